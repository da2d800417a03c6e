"""Only the numerics: weights for updates of your own, round after round.

    python examples/numerics.py

Nothing is trained here. The updates are numpy arrays; they could come from any framework.
"""

import numpy as np

from fedadp import Cohort, FedAdp, FedAvg

NODES = [11, 7, 4, 2]  # ids: the same node keeps its id from round to round
EXAMPLES = [600, 200, 600, 600]
AGREEMENT = np.array([[0.9], [0.9], [0.9], [0.1]])  # node 2 holds data unlike the others'
PARAMETERS = 1000


def updates_of_a_round(draw: np.random.Generator) -> np.ndarray:  # (K, P)
    """A direction that the nodes share, more or less, and one of their own."""
    common = draw.normal(size=PARAMETERS)
    own = draw.normal(size=(len(NODES), PARAMETERS))
    return AGREEMENT * common + np.sqrt(1 - AGREEMENT**2) * own


def main() -> None:
    draw = np.random.default_rng(0)
    strategy = FedAdp(alpha=5.0)
    state = strategy.init()
    for number in (1, 2, 3):
        cohort = Cohort.of(NODES, updates_of_a_round(draw), EXAMPLES)
        weights, state, notes = strategy.weigh(state, cohort)
        delta = cohort.combine(weights)  # add this to the global parameters
        plain = cohort.combine(FedAvg().weigh(FedAvg().init(), cohort).weights)

        print(
            f"round {number}: a step of length {delta.norm():.2f}, FedAvg's is {plain.norm():.2f}"
        )
        columns = (notes["angle"], notes["smoothed_angle"], cohort.shares, weights)
        for node, *row in zip(NODES, *(column.tolist() for column in columns), strict=True):
            angle, smoothed, share, weight = row
            print(
                f"  node {node:2}: angle {angle:.2f}, smoothed {smoothed:.2f}, "
                f"share {share:.0%}, weight {weight:.1%}"
            )


if __name__ == "__main__":
    main()
