"""Small models: many nodes trained together, as one batched product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedadp.core import Cohort, Examples, Instructions
from fedadp.engines.inprocess import NodeData, Reply, Task, fault
from fedadp.engines.softmax import can_descend, descend, is_softmax_regression
from fedadp.engines.stacked import Stacker, Stepper, can_be_stacked, stacker
from fedadp.engines.threads import Threads
from fedadp.errors import TrainingError, reason
from fedadp.local import Bounds, Descent, Loss, bounds, cross_entropy, orders
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
        self._counts = {node: len(data[node]) for node in self.nodes}
        self._flat = self._shop.tool()
        sample = data[self.nodes[0]]
        self.stacks = not self._shop.dice.used and can_be_stacked(module, loss, sample)
        if self.stacks:
            self._device = torch.device(device)
            self._together = _together(data, self._device)
            plain = is_softmax_regression(module) and loss is cross_entropy
            self._compiles = plain and self._device.type == "cpu"
            self._classes = self._flat.parameters[-1].numel()
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
        places = sorted(range(len(nodes)), key=lambda place: -self._counts[nodes[place]])
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
        counts = [self._counts[node] for node in nodes]
        places = _places(nodes, counts, starts, task.told)
        told, params = task.told, task.params
        if self._compiles and can_descend(examples, told, params, self._classes, places):
            means, sums = descend(block, params, examples, places, counts, told)
        else:
            means = self._stacked(begin, task, nodes, counts, block, examples, places)
            sums = block.sum(dim=1)
        replies = zip(means.tolist(), counts, block, sums.tolist(), strict=True)
        return [
            Reply(loss, task.buffers, count, fault(loss, row, total, task.buffers))
            for loss, count, row, total in replies
        ]

    def _stacked(
        self,
        begin: Stacker,
        task: Task,
        nodes: Sequence[int],
        counts: list[int],
        block: Tensor,
        examples: Examples,
        places: Tensor,
    ) -> Tensor:  # (k,)
        """All nodes of the chunk take each step together."""
        start_from, places = task.params.to(self._device), places.to(self._device)
        # on the CPU nodes train where their updates will be; elsewhere updates are fetched once
        stack = (
            block if self._device.type == "cpu" else torch.empty_like(block, device=self._device)
        )
        stack.copy_(start_from.expand_as(stack))
        descent = Descent(self._flat.stacks(stack), task.told)
        steppers: dict[tuple[int, int], Stepper] = {}
        totals = torch.zeros(len(nodes), dtype=torch.float64, device=self._device)
        cuts = [bounds(count, task.told) for count in counts]
        for first, last, start, stop in _steps(cuts):
            if (first, last) not in steppers:
                steppers[first, last] = begin(descent.part(slice(first, last)))
            batch = places[first:last, start:stop]
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
        seen = [sum(stop - start for start, stop in own) for own in cuts]
        return totals.cpu() / torch.tensor(seen)

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
        return TrainingError(f"round {task.told.round}: training together failed ({reason(error)})")


def _steps(cuts: Sequence[Bounds]) -> Iterator[tuple[int, int, int, int]]:
    """Nodes first to last take the batch from start to stop together; step by step."""
    for step in range(max(map(len, cuts))):
        first = 0
        for batch, same in groupby(own[step] if step < len(own) else None for own in cuts):
            last = first + len(list(same))
            if batch is not None:
                yield first, last, *batch
            first = last


def _places(
    nodes: Sequence[int], counts: Sequence[int], starts: dict[int, int], told: Instructions
) -> Tensor:  # (k, longest)
    """Where each node's examples lie among all examples, in the order in which it learns."""
    parts, first = [], 0
    for count, same in groupby(counts):
        some = nodes[first : first + len(list(same))]
        begins = torch.tensor([starts[node] for node in some])
        parts.append(orders(count, told, some) + begins[:, None])
        first += len(some)
    longest = max(part.shape[1] for part in parts)
    return torch.cat([F.pad(part, (0, longest - part.shape[1])) for part in parts])


def _together(data: NodeData, device: torch.device) -> Together | None:
    """All examples, where they lie in one tensor in the order of the nodes."""
    together = getattr(data, "together", None)
    if together is None:
        return None
    starts = accumulate((len(data[node]) for node in data), initial=0)
    examples = Examples(together.x.to(device), together.y.to(device))
    return Together(examples, dict(zip(data, starts, strict=False)))
