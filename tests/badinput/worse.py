"""What was tried by hand and was not answered well at first."""

from .table import Bad, small


def own(part, name, value, way, place=None):
    toml = small(**{part: f'"worse_parts:{name}"'})
    return Bad(f"{part}: {name}", toml, place or part, value, way)


ROWS = [
    Bad("an experiment of nothing", "", "trial.toml", "no settings", "as rounds = 100"),
    Bad("a file of comments", "# rounds = 3\n", "trial.toml", "no settings", "at least one"),
    own("model", "Lazy", "lazy", "sizes"),
    own("model", "Clouded", "statistics", "mend how"),
    own("model", "Quits", "(0)", "must fit the data"),
    own("strategy", "Leaves", "step failed (3)", "check_strategy"),
    own("strategy", "Imaginary", "complex128", "real ones", "combine"),
    own("strategy", "Circles", "hold themselves", "no file", "metrics.jsonl"),
    own("strategy", "CirclesInState", "cannot be had again", "init()"),
    own("partition", "Listed", "[0, 1]", "tensor (D,) of int64"),
    own("partition", "Floats", "tensor([0., 1.])", "tensor (D,) of int64"),
    own("partition", "Uncounted", "'int' object", "mend it"),
    Bad(
        "nothing to go on from", small(), "{out}", "no round", "leave out --resume",
        ("run", "{file}", "--out", "{out}", "--resume"),
    ),
    Bad(
        "going on and starting over", small(), "--resume", "--restart", "one of them",
        ("run", "{file}", "--out", "{out}", "--resume", "--restart"),
    ),
    Bad(
        "a folder without a run", small(), "{folder}", "no run", "a run's folder",
        ("run", "{folder}"),
    ),
    Bad(
        "a folder for a lock", small(), "{out}", "Is a directory", "another folder",
        prepare=lambda folder: (folder / "out" / "fedadp-seed-0" / ".lock").mkdir(parents=True),
    ),
]  # fmt: skip
