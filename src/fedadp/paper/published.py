"""What the paper printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A cell of Table 1: rounds to the target, or the best accuracy where it was not reached."""

    rounds: int | None
    best: float | None = None  # percent

    def __str__(self) -> str:
        return f"N/A ({self.best:g} %)" if self.rounds is None else str(self.rounds)


def _row(avg: tuple[object, ...], adp: tuple[object, ...]) -> list[dict[str, Figure]]:
    def read(value: object) -> Figure:
        return Figure(None, value) if isinstance(value, float) else Figure(int(str(value)))

    return [{"fedavg": read(a), "fedadp": read(b)} for a, b in zip(avg, adp, strict=True)]


MIXES = ("3+7", "5+5", "6+4")  # IID nodes and skewed ones
_TABLE = {
    ("mnist", 1): _row((94.48, 133, 99), (187, 61, 58)),
    ("mnist", 2): _row((120, 104, 81), (75, 59, 52)),
    ("fashion", 1): _row((77.31, 222, 167), (79.5, 125, 107)),
    ("fashion", 2): _row((258, 196, 134), (207, 107, 94)),
}
TABLE_1: dict[str, dict[str, Figure]] = {
    f"{data}-{mix}-{classes}": cell
    for (data, classes), row in _TABLE.items()
    for mix, cell in zip(MIXES, row, strict=True)
}
