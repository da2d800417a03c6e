"""Your own model and arrays, trained by the loop itself.

    python examples/own_model.py

Six nodes learn a rule with three answers. Four see all answers, two see one answer each.
"""

import torch
from torch import nn

from fedadp import Examples, FedAdp, Round, Training, engines, federate
from fedadp.evaluation import Evaluator
from fedadp.flat import Flat


class Net(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, 32)
        self.norm = nn.BatchNorm1d(32)  # its statistics are averaged, and have no angle
        self.out = nn.Linear(32, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.norm(self.hidden(x))))


def main() -> None:
    torch.manual_seed(0)
    x, rule = torch.randn(3000, 10), torch.randn(10, 3)
    y = (x @ rule).argmax(dim=1)
    train, test = slice(0, 2000), Examples(x[2000:], y[2000:])

    held = list(torch.arange(1200).split(300))  # nodes 0 to 3 hold all answers
    held += [(y[train] == answer).nonzero().flatten()[-300:] for answer in (0, 1)]
    nodes = {node: Examples(x[places], y[places]) for node, places in enumerate(held)}

    model = Net(10, 3)
    flat, score = Flat(model), Evaluator(model, test)
    engine = engines.Threads(model, nodes)  # cross-entropy; a third argument is another loss
    start = Round(0, flat.read(), flat.read_buffers())
    training = Training(learning_rate=0.05, batch_size=30, decay=1.0)

    for now in federate(engine, FedAdp(), start, training, seed=0):
        weights = "  ".join(f"{weight:.3f}" for weight in now.notes["weight"].tolist())
        print(f"round {now.number:2}: accuracy {score(now)['accuracy']:.1%}, weights {weights}")
        if now.number == 10:
            break

    flat.lay_over(now.params)  # from here on, the model has what was learnt
    flat.write_buffers(now.buffers)


if __name__ == "__main__":
    main()
