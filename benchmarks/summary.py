"""From raw results to a row: medians, ranges, ratios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One contestant's figures over all repetitions; none where it did not run."""

    label: str
    name: str
    role: str
    reason: str = ""  # why there are no figures
    seconds: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    cpu: float = 0.0
    peak_mb: float = 0.0
    anonymous_mb: float = 0.0
    extra_mb: float | None = None
    rounds: float | None = None  # to the target
    accuracy: float | None = None
    disk: float | None = None  # GB/s
    errors: tuple[float, ...] = ()
    agreement: Json | None = None


def rows(workload: Json) -> list[Row]:
    """A row for every entry, in the order of the workload."""
    return [_row(label, entry, workload["warmup"]) for label, entry in workload["entries"].items()]


def _row(label: str, entry: Json, warmup: int) -> Row:
    runs = entry["repetitions"]
    laps = [lap for run in runs for lap in run.get("laps", [])[warmup:]]
    who = (label, entry["name"], entry["role"])
    reasons = [run.get("missing") or run.get("failed") for run in runs]
    if not laps or any(reasons):
        return Row(*who, reason=next((r for r in reasons if r), "no rounds were measured"))
    times = [lap.get("seconds_from_start", lap["seconds"]) for lap in laps]
    extra = [lap["extra_mb"] for lap in laps if lap.get("extra_mb") is not None]
    first = next(iter(laps))
    disks = [run["disk_gb_per_s"] for run in runs if "disk_gb_per_s" in run]
    return Row(
        *who,
        seconds=median(times),
        lowest=min(times),
        highest=max(times),
        cpu=median(lap["cpu"] for lap in laps),
        peak_mb=max(run["peak_mb"] for run in runs),
        anonymous_mb=max(run["anonymous_mb"] for run in runs),
        extra_mb=max(extra) if extra else None,
        rounds=first.get("rounds"),
        accuracy=first.get("accuracy"),
        disk=max(disks) if disks else None,
        errors=tuple(v for run in runs for k, v in run.items() if k.startswith("error_of")),
        agreement=entry.get("agreement"),
    )


def best(found: list[Row], role: str) -> Row | None:
    """The quickest of a role that learnt the same."""
    fair = [
        row
        for row in found
        if row.role == role
        and not row.reason
        and row.name != "plain2, our model"  # no plain loop: it shows what the model alone brings
        and (row.agreement is None or row.agreement["agrees"])
    ]
    return min(fair, key=lambda row: row.seconds, default=None)


def limit(workload: Json, limits: list[Json], row: Row | None = None) -> float | None:
    """Seconds that the machine's best speed, measured in the same run, would take."""
    if "flop" in workload:
        return workload["flop"] / 1e9 / max(one["gemm_gflops"] for one in limits)
    if workload["kind"] == "out-of-core":
        return workload["bytes"] / 1e9 / row.disk if row and row.disk else None
    if "bytes" in workload:
        return workload["bytes"] / 1e9 / max(one["read_gb_per_s"] for one in limits)
    return None
