"""Flower's FedAvg over the same updates, without angles: "messages" or "arrays"."""

from __future__ import annotations

from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
from flwr.server.strategy.aggregate import aggregate
from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords
from updates import Memory, examples, layers, matrix
from work import Answer, given_spec


def main() -> None:
    spec = given_spec()
    answer = Answer(spec)
    rows, counts = matrix(spec["nodes"], spec["size"]), examples(spec["nodes"])
    if spec["variant"] == "messages":  # what ServerApp's FedAvg calls; each array in its own bytes
        replies = []
        for place in range(len(rows)):
            arrays = {str(i): Array(piece) for i, piece in enumerate(layers(rows[place]))}
            metrics = MetricRecord({"num-examples": counts[place]})
            replies.append(RecordDict({"arrays": ArrayRecord(arrays), "metrics": metrics}))
        del rows

        def work() -> object:
            return aggregate_arrayrecords(replies, "num-examples")
    else:
        results = [(layers(row), count) for row, count in zip(rows, counts, strict=True)]

        def work() -> object:
            return aggregate(results)

    for _ in range(spec["rounds"]):
        memory = Memory()
        answer.start()
        work()
        answer.lap(extra_mb=memory.extra_mb())
    answer.end()


main()
