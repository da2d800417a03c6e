"""Command lines that cannot be obeyed."""

from pathlib import Path

from .table import Bad, small

RUN = ("run", "{file}", "--out", "{out}", "--quiet")


def a_file_in_the_way(folder: Path) -> None:
    (folder / "out").write_text("a letter")


def somebody_s_files(folder: Path) -> None:
    run = folder / "out" / "fedadp-seed-0"
    run.mkdir(parents=True)
    (run / "thesis.tex").write_text("for years")


def line(name, words, place, value, way, prepare=lambda folder: None):
    return Bad(name, small(), place, value, way, words, prepare)


ROWS = [
    line("an unknown command", ["rum"], "rum", "No such command", "run"),
    line("an unknown option", ["run", "{file}", "--ouput"], "--ouput", "No such option", "--help"),
    line("no experiment", ["run"], "EXPERIMENT", "Missing", "--help"),
    line("one argument too many", ["run", "{file}", "x", "y"], "x", "unexpected", "--help"),
    line("no jobs", [*RUN, "--jobs", "0"], "--jobs", "0", "--help"),
    line("jobs that are no number", [*RUN, "-j", "x"], "--jobs", "'x'", "--help"),
    line("a target in words", [*RUN, "--target", "high"], "--target", "'high'", "--help"),
    line("a target in per cent, on the line", [*RUN, "--target", "95"], "target", "95", "as 0.95"),
    line("a change to nothing", [*RUN, "--set", "alpha"], "--set", "'alpha'", "strategy.alpha=3"),
    line("a change of nothing", [*RUN, "-s", "=3"], "--set", "'=3'", "strategy.alpha=3"),
    line("a change inside a number", [*RUN, "-s", "rounds.x=3"], "--set", "rounds", "no settings"),
    line(
        "a change of what is not there", [*RUN, "-s", "strategy.alhpa=3"],
        "strategy.alhpa", "unknown", "'alpha'",
    ),
    line(
        "a change as deep as a well", [*RUN, "-s", ".".join("a" * 9000) + "=1"],
        "--set", "inside one another", "at most",
    ),
    line(
        "brackets without end", [*RUN, "-s", "rounds=" + "[" * 9000],
        ".rounds", "[[[", "a whole number",
    ),
    line(
        "a rival that is none", ["compare", "{file}", "--strategy", "fedavgg"],
        "--strategy", "'fedavgg'", "'fedavg'",
    ),
    line("a file that is not there", ["run", "{folder}/none.toml"], "none.toml", "No such", "give"),
    line("a name too long", ["run", "a" * 5000], "aaa", "too long", "give"),
    line("a file in the way", RUN, "{out}", "Not a directory", "another folder", a_file_in_the_way),
    line("somebody's files", RUN, "{out}", "other files", "of its own", somebody_s_files),
    line(
        "a folder where none can be", ["run", "{file}", "--out", "/proc/none"],
        "/proc/none", "No such", "another folder",
    ),
    line("no such data", ["data", "fetch", "minst"], "'minst'", "not a data set", "'mnist'"),
    line(
        "a picture of another kind", ["data", "show", "{file}", "--out", "{folder}/who.pdf"],
        "who.pdf", "a picture is a PNG", "ends in .png",
    ),
    line("no such part of the paper", ["paper", "tabel1"], "PART", "'tabel1'", "'table1'"),
]  # fmt: skip
