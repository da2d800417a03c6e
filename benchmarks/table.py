"""The tables of `benchmarks/README.md`, from the raw results alone. `python -m benchmarks.table`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.aims import aims
from benchmarks.summary import Json, Row, best, limit, rows

HERE = Path(__file__).parent


def lines_of(name: str, record: dict[str, Any]) -> list[str]:
    """One workload's table and its aims, in Markdown."""
    workload = record["workloads"][name]
    found = rows(workload)
    heads, cells = _columns(workload, found, record["limits"])
    lines = ["", f"### {name}: {workload['title']}", ""]
    lines += [_line(["", *heads]), _line(["---", *["---:"] * len(heads)])]
    for row in found:
        shown = [row.reason, *[""] * (len(heads) - 1)] if row.reason else cells(row)
        lines.append(_line([row.label, *shown]))
    return [
        *lines,
        "",
        *([aim.line() for aim in aims(name, record)] if not record["quick"] else []),
    ]


def _columns(workload: Json, found: list[Row], limits: list[Json]):
    kind = workload["kind"]
    peer, plain = best(found, "peer"), best(found, "plain")

    def common(row: Row) -> list[str]:
        spread = f"{_short(row.lowest)} to {_short(row.highest)}"
        return [_short(row.seconds), spread, _short(row.cpu), f"{row.peak_mb:,.0f}"]

    def ratios(row: Row) -> list[str]:
        least = limit(workload, limits, row)
        share = f"{least / row.seconds:.1%}" if least else "-"
        return [_times(peer, row), _times(plain, row), share]

    heads = ["s / round", "range", "CPU s", "peak MB"]
    if kind == "train":
        more = ["best peer", "plain loop", "limit", "loss (of its fall)"]
        return heads + more, lambda row: [*common(row), *ratios(row), _agreement(row)]
    if kind == "aggregate":
        more = ["best peer", "limit", "extra MB", "error"]
        return ["s", *heads[1:3], *more], lambda row: [
            *common(row)[:3], _times(peer, row), ratios(row)[2], _number(row.extra_mb),
            _errors(row),
        ]  # fmt: skip
    if kind == "target":
        return ["s from start", *heads[1:], "rounds", "accuracy", "best peer"], lambda row: [
            *common(row), _number(row.rounds), f"{row.accuracy:.2%}", _times(peer, row),
        ]  # fmt: skip
    if kind == "out-of-core":
        return ["s", *heads[1:], "beside the page cache MB", "limit", "error"], lambda row: [
            *common(row), f"{row.anonymous_mb:,.0f}", ratios(row)[2], _errors(row),
        ]  # fmt: skip
    return heads, common


def _times(other: Row | None, row: Row) -> str:
    """How many times faster this row is."""
    return f"{other.seconds / row.seconds:.2f}" if other else "-"


def _agreement(row: Row) -> str:
    if row.agreement is None:
        return "not compared"
    far = "" if row.agreement["agrees"] else "**differs**, "
    return f"{far}{row.agreement['of_loss']:.0e} ({row.agreement['of_fall']:.0e})"


def _errors(row: Row) -> str:
    return f"{max(row.errors):.0e}" if row.errors else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _short(seconds: float) -> str:
    return (
        f"{seconds:.2f}"
        if seconds >= 1
        else f"{seconds:.4f}"
        if seconds < 0.1
        else f"{seconds:.3f}"
    )


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def page(records: dict[str, dict[str, Any]]) -> str:
    """The README: what is compared, then every run's tables, the newest first."""
    text = (HERE / "introduction.md").read_text()
    for name, record in sorted(records.items(), reverse=True):
        machine, all_limits = record["machine"], record["limits"]
        gemm, read = ([one[key] for one in all_limits] for key in ("gemm_gflops", "read_gb_per_s"))
        told = [
            f"\n## {record['when']} UTC{', quick' if record['quick'] else ''}",
            f"\n{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
            f"{machine['system']}. GEMM {max(gemm):.0f} GFLOP/s (between workloads {min(gemm):.0f} "
            f"to {max(gemm):.0f}), read bandwidth {max(read):.1f} GB/s ({min(read):.1f} to "
            f"{max(read):.1f}).{_quiet(record)} Raw results: [{name}](results/{name}).\n",
        ]
        for peer, versions in record["versions"].items():
            shown = ", ".join(f"{key} {value}" for key, value in versions.items())
            told.append(f"- {peer}: {shown or 'not installed'}")
        for workload in record["workloads"]:
            told += lines_of(workload, record)
        text += "\n".join(told) + "\n"
    return text


def _quiet(record: dict[str, Any]) -> str:
    """How many processes wanted a core before each row: on a quiet machine about one."""
    entries = [e for one in record["workloads"].values() for e in one["entries"].values()]
    loads = [run["load_before"] for e in entries for run in e["repetitions"]]
    return f" Load before a row {min(loads):.0f} to {max(loads):.0f}." if loads else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="raw results; else all in results/")
    files = parser.parse_args().files or sorted((HERE / "results").glob("*.json"))
    records = {path.name: json.loads(path.read_text()) for path in files}
    (HERE / "README.md").write_text(page(records))


if __name__ == "__main__":
    main()
