"""Small models: many nodes trained together, as one batched product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fedadp.core import Cohort, Examples, Instructions
from fedadp.engines.inprocess import NodeData, Reply, Task, fault
from fedadp.engines.stacked import Stacker, Stepper, can_be_stacked, stacker
from fedadp.engines.threads import Threads
from fedadp.errors import TrainingError
from fedadp.local import Descent, Loss, Plan, cross_entropy, plan
from fedadp.parallel import Crew

CHUNK_BYTES = 2**21  # of parameters: 16 to 64 nodes cost the same arithmetic, and fewer calls
GPU_BYTES = 2**28
MOST_CORES = 2  # for a small cohort, whose calls take turns anyway; fixed, for the bits' sake


class Together(NamedTuple):
    """Examples of many nodes in one tensor, and where each node's begin."""

    examples: Examples
    starts: dict[int, int]


class Batched:
    """Many nodes at once, as one batched product: small models without the overhead.

    A model that cannot be stacked trains as under `threads`, with the same bits. Examples that lie
    in one tensor already (`data.together`) stay there; others are put together chunk by chunk.
    """

    def __init__(
        self,
        module: nn.Module,
        data: NodeData,
        loss: Loss = cross_entropy,
        workers: int | None = None,
        device: str = "cpu",
    ) -> None:
        self._threads = Threads(module, data, loss, workers)
        self._shop = self._threads.shop
        self.nodes = self._shop.nodes
        self._flat = self._shop.tool()
        sample = data[self.nodes[0]]
        self.stacks = not self._shop.dice.used and can_be_stacked(module, loss, sample)
        if self.stacks:
            self._device = torch.device(device)
            self._together = _together(data, self._device)
            crew = self._threads.workers if device == "cpu" else 1
            self._crew = Crew(lambda: stacker(module, loss, self._device), crew)

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        if not self.stacks:
            return self._threads.train(params, buffers, told, nodes)
        task = Task(params, buffers, told)
        rows = self._shop.rows(task, nodes)
        # the larger first, so that nodes that take the same steps stand side by side
        places = sorted(range(len(nodes)), key=lambda place: -len(self._shop.data[nodes[place]]))
        in_order = places == list(range(len(nodes)))
        stack = rows if in_order else torch.empty_like(rows)
        room, parts = (CHUNK_BYTES, MOST_CORES) if self._device.type == "cpu" else (GPU_BYTES, 1)
        fit = max(1, room // (params.numel() * params.element_size()))
        width = min(fit, -(-len(nodes) // parts))

        def work(begin: Stacker, start: int) -> list[Reply]:
            chunk = [nodes[place] for place in places[start : start + width]]
            return self._train(begin, task, chunk, stack[start : start + width])

        found = self._crew.map(work, range(0, len(nodes), width))
        replies = dict(zip(places, (reply for part in found for reply in part), strict=True))
        if not in_order:
            rows[places] = stack
        return self._shop.cohort(told, nodes, rows, [replies[i] for i in range(len(nodes))])

    def _train(
        self, begin: Stacker, task: Task, nodes: Sequence[int], block: Tensor
    ) -> list[Reply]:
        """Train a chunk of nodes in the rows of a block, and turn the rows into updates."""
        examples, starts = self._together or self._gathered(nodes)
        counts = [len(self._shop.data[node]) for node in nodes]
        plans = [plan(count, task.told, node) for count, node in zip(counts, nodes, strict=True)]
        orders = _orders(plans, [starts[node] for node in nodes]).to(self._device)
        start_from = task.params.to(self._device)
        # on the CPU nodes train where their updates will be; elsewhere updates are fetched once
        stack = (
            block if self._device.type == "cpu" else torch.empty_like(block, device=self._device)
        )
        stack.copy_(start_from.expand_as(stack))
        descent = Descent(self._flat.stacks(stack), task.told)
        steppers: dict[tuple[int, int], Stepper] = {}
        totals = torch.zeros(len(nodes), dtype=torch.float64, device=self._device)
        for first, last, start, stop in _steps(plans):
            if (first, last) not in steppers:
                steppers[first, last] = begin(descent.part(slice(first, last)))
            batch = orders[first:last, start:stop]
            x = self._flat.cast(examples.x.index_select(0, batch.flatten()))
            try:
                x = x.view(*batch.shape, *x.shape[1:])
                losses = steppers[first, last](x, examples.y[batch])
                totals[first:last] += losses * (stop - start)
            except Exception as error:
                raise self._explained(task, nodes[first:last], error) from error
        stack -= start_from
        if stack is not block:
            block.copy_(stack)
        seen = [sum(stop - start for start, stop in own.bounds) for own in plans]
        means = (totals.cpu() / torch.tensor(seen)).tolist()
        sums = block.sum(dim=1).tolist()
        replies = zip(means, counts, block, sums, strict=True)
        return [
            Reply(loss, task.buffers, count, fault(loss, row, total, task.buffers))
            for loss, count, row, total in replies
        ]

    def _gathered(self, nodes: Sequence[int]) -> Together:
        """The examples of these nodes, put side by side."""
        parts = [self._shop.data[node] for node in nodes]
        starts = accumulate((len(part) for part in parts), initial=0)
        x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
        examples = Examples(x.to(self._device), y.to(self._device))
        return Together(examples, dict(zip(nodes, starts, strict=False)))

    def _explained(self, task: Task, nodes: Sequence[int], error: Exception) -> TrainingError:
        """One of these nodes failed: train them one by one to say which, and at what step."""
        try:
            for node in nodes:
                self._shop.train(self._shop.tool(), task, node, torch.empty_like(task.params))
        except TrainingError as explained:
            return explained
        return TrainingError(f"round {task.told.round}: training together failed ({error})")


def _steps(plans: Sequence[Plan]) -> Iterator[tuple[int, int, int, int]]:
    """Nodes first to last take the batch from start to stop together; step by step."""
    for step in range(max(len(own.bounds) for own in plans)):
        first = 0
        bounds = [own.bounds[step] if step < len(own.bounds) else None for own in plans]
        for batch, same in groupby(bounds):
            last = first + len(list(same))
            if batch is not None:
                yield first, last, *batch
            first = last


def _orders(plans: Sequence[Plan], starts: Sequence[int]) -> Tensor:  # (k, longest)
    """Each node's examples in the order of its plan, as places among all examples."""
    longest = max(len(own.order) for own in plans)
    orders = torch.zeros(len(plans), longest, dtype=torch.int64)
    for row, own, start in zip(orders, plans, starts, strict=True):
        torch.add(own.order, start, out=row[: len(own.order)])
    return orders


def _together(data: NodeData, device: torch.device) -> Together | None:
    """All examples, where they lie in one tensor in the order of the nodes."""
    together = getattr(data, "together", None)
    if together is None:
        return None
    starts = accumulate((len(data[node]) for node in data), initial=0)
    examples = Examples(together.x.to(device), together.y.to(device))
    return Together(examples, dict(zip(data, starts, strict=False)))
