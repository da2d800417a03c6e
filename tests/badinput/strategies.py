"""Strategies of somebody's own that break their promises."""

from .table import Bad, small


def own(name, strategy, value, way, place="strategy"):
    return Bad(name, small(strategy=f'"bad_parts:{strategy}"'), place, value, way)


ROWS = [
    own("no such class", "FedNone", "'bad_parts:FedNone'", "module:Class"),
    own("a class that is no strategy", "Empty", "'bad_parts:Empty'", "frozen dataclass"),
    own("one that is not finished", "Unfinished", "abstract", "mend it"),
    own("one that raises", "Raises", "out of ideas", "check_strategy"),
    own("one that raises at the start", "NoState", "init failed (no memory)", "check_strategy"),
    own("one that tells nodes nothing", "Silent", "None", "Instructions"),
    own("weights that are no number", "NanWeights", "nan", "sum to 1"),
    own("too few weights", "TooFew", "2 weights for 3 nodes", "one per node", "combine"),
    own("negative weights", "Negative", "-1", "at least 0"),
    own("weights that sum to two", "SumsToTwo", "2", "sum to 1"),
    own("weights that are a list", "Listed", "'list' object", "check_strategy"),
    own("an answer of another kind", "Speechless", "NoneType", "check_strategy"),
    own("a step of another size", "ShortStep", "shape (2,)", "(15,)"),
    own("a step that is no number", "NanStep", "not finite", "step"),
    own("a state that no file can hold", "Unkeepable", "a object", "is made of tensors"),
]
