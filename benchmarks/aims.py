"""What this project aims at, held against what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.summary import Json, Row, best, limit, rows

FASTER = {"cnn10": 1.5, "cnn10-valid": 1.5, "mlr10": 2, "mlr100": 5, "mlr1000": 8}
OF_LIMIT = {"cnn10": 0.60}


@dataclass(frozen=True)
class Aim:
    """An aim, what was measured, and whether that is enough; None: it could not be told."""

    text: str
    measured: str
    met: bool | None

    def line(self) -> str:
        word = {True: "met", False: "**missed**", None: "**not measured**"}[self.met]
        return f"- {self.text}: {self.measured} ({word})"


def aims(name: str, record: dict[str, Any]) -> list[Aim]:
    """The aims of one workload."""
    workload = record["workloads"][name]
    found = rows(workload)
    judge = {
        "train": _train, "many": _many, "aggregate": _aggregate, "target": _target,
        "out-of-core": _out_of_core,
    }[workload["kind"]]  # fmt: skip
    return judge(name, workload, found, record["limits"])


def _train(name: str, workload: Json, found: list[Row], limits: list[Json]) -> list[Aim]:
    ours, peer, least = best(found, "ours"), best(found, "peer"), limit(workload, limits)
    told = [_faster(FASTER[name], ours, peer)]
    if name in OF_LIMIT:
        share = least / ours.seconds if ours and least else None
        text = f"at least {OF_LIMIT[name]:.0%} of the GEMM limit"
        met = None if share is None else share >= OF_LIMIT[name]
        told.append(Aim(text, f"{share:.0%}" if share is not None else "-", met))
    apart = [row.agreement["of_loss"] for row in found if row.role == "ours" and row.agreement]
    text = "the loss of ours agrees with the plain loop's to 1e-4"
    told.append(
        Aim(text, f"{max(apart):.1e}", max(apart) <= 1e-4) if apart else Aim(text, "-", None)
    )
    return told


def _many(name: str, workload: Json, found: list[Row], limits: list[Json]) -> list[Aim]:
    told, entries = [], workload["entries"]
    for engine in dict.fromkeys(row.name for row in found):
        mine = [row for row in found if row.name == engine]
        first, last = mine[0], mine[-1]
        parts = [entries[row.label]["participants"] for row in (first, last)]
        people = [entries[row.label]["nodes"] for row in (first, last)]
        text = f"{engine}: time grows with participants ({parts[0]:,} to {parts[1]:,}), not with "
        text += f"the population ({people[0]:,} to {people[1]:,})"
        if broken := next((row for row in mine if row.reason), None):
            told.append(Aim(text, broken.reason, False))
            continue
        ratio, grown = last.seconds / first.seconds, parts[1] / parts[0]
        told.append(Aim(text, f"{ratio:.2f} times", ratio <= 1.25 * grown))
        peak = max(row.peak_mb for row in mine)
        told.append(Aim(f"{engine}: peak memory under 4 GB", f"{peak:,.0f} MB", peak < 4096))
    return told


def _aggregate(name: str, workload: Json, found: list[Row], limits: list[Json]) -> list[Aim]:
    ours, peer, least = best(found, "ours"), best(found, "peer"), limit(workload, limits)
    if ours is None or least is None:
        return [Aim("geometry, FedAdp and the sum", "-", None)]
    times, result = ours.seconds / least, workload["spec"]["size"] * 4 / 2**20
    extra = None if ours.extra_mb is None else ours.extra_mb - result
    return [
        Aim("at most 2.5 times two reads", f"{times:.2f} times", times <= 2.5),
        Aim(
            "under 64 MB beside the result",
            "-" if extra is None else f"{max(extra, 0):.0f} MB",
            None if extra is None else extra < 64,
        ),
        _faster(1.0, ours, peer),
        _exact(ours),
    ]


def _target(name: str, workload: Json, found: list[Row], limits: list[Json]) -> list[Aim]:
    ours = next(
        (row for row in found if row.name == "fedadp FedAdp" and _there(row, workload)), None
    )
    peer = next((row for row in found if row.role == "peer" and _there(row, workload)), None)
    return [_faster(4.0, ours, peer)]


def _there(row: Row, workload: Json) -> bool:
    return row.accuracy is not None and row.accuracy >= workload["spec"]["target"]


def _out_of_core(name: str, workload: Json, found: list[Row], limits: list[Json]) -> list[Aim]:
    row = found[0]
    least = limit(workload, limits, row)
    if row.reason or least is None:
        return [Aim("K = 10 updates from files", row.reason or "-", None)]
    times = row.seconds / least
    return [
        Aim(
            "under 2 GB beside the page cache",
            f"{row.anonymous_mb:,.0f} MB",
            row.anonymous_mb < 2048,
        ),
        Aim("at most 2 times two reads of the files", f"{times:.2f} times", times <= 2),
        _exact(row),
    ]


def _exact(row: Row) -> Aim:
    text = "cosines and sum as float64 NumPy has them, to 1e-6"
    if not row.errors:
        return Aim(text, "-", None)
    worst = max(row.errors)
    return Aim(text, f"{worst:.0e}", worst <= 1e-6)


def _faster(factor: float, ours: Row | None, peer: Row | None) -> Aim:
    text = (
        f"at least {factor:g} times faster than the best peer"
        if factor > 1
        else "faster than the best peer"
    )
    if ours is None or peer is None:
        return Aim(
            text,
            "no peer took part, or none learnt the same"
            if ours
            else "ours did not run, or did not learn the same",
            None,
        )
    ratio = peer.seconds / ours.seconds
    return Aim(f"{text} ({peer.label})", f"{ratio:.2f} times, by {ours.label}", ratio >= factor)
