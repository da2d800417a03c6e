"""fedadp itself: the engine is the variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch
from work import Answer, Work, given

from fedadp import Examples, FedAdp, FedAvg, Model, Round, Runtime, Training, engines, federate
from fedadp.flat import Flat


class Views(Mapping[int, Examples]):
    """The nodes' examples, in tensors of PyTorch's as a federation has them.

    More nodes than there is data for share it.
    """

    def __init__(self, work: Work) -> None:
        self._work = replace(work, x=torch.tensor(work.x).numpy(), y=torch.tensor(work.y).numpy())
        if work["nodes"] * work["each"] <= len(work.y):
            x, y = self._work.x, self._work.y
            self.together = Examples(torch.from_numpy(x), torch.from_numpy(y))

    def __getitem__(self, node: int) -> Examples:
        return Examples(*map(torch.from_numpy, self._work.node(node)))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return self._work["nodes"]


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    module = Model(work["model"]).build((1, 28, 28), 10, seed=0)
    variant, data = work["variant"], Views(work)
    if variant == "Auto":
        try:
            engine = Runtime("auto").open(module, data)
        except Exception as error:  # noqa: BLE001  whatever it is, it is the reason
            return answer.say({"missing": str(error)})
    elif hasattr(engines, variant):
        engine = getattr(engines, variant)(module, data)
    else:
        return answer.say({"missing": f"fedadp.engines has no {variant}"})
    Flat(module).lay_over(torch.from_numpy(work.params))
    start = Round(0, torch.from_numpy(work.params))
    training = Training(
        batch_size=work["batch"],
        learning_rate=work["rate"],
        decay=1.0,
        participation=work.spec.get("participants", 1.0),
    )
    strategy = FedAdp() if work.spec.get("strategy") == "fedadp" else FedAvg()
    answer.start()
    for now in federate(engine, strategy, start, training, seed=0):
        answer.lap()
        if now.number == work["rounds"]:
            return answer.end(now.params)
    return None


main()
