"""Who holds what, in a terminal."""

from __future__ import annotations

from rich.table import Table

from fedadp.federation import Federation


def holdings_table(federation: Federation) -> Table:
    """A row per node, a column per class; the darker, the more examples."""
    most = max(1, int(federation.counts.max()))
    shown = Table(box=None, header_style="bold", padding=(0, 0, 0, 1))
    shown.add_column("node", justify="right")
    shown.add_column("kind", no_wrap=True)
    for name in range(federation.classes):
        shown.add_column(str(name), justify="right", no_wrap=True, min_width=len(str(most)))
    shown.add_column("all", justify="right", style="bold")
    rows = zip(federation.kinds, federation.counts.tolist(), strict=True)
    for node, (kind, counts) in enumerate(rows):
        cells = [_shaded(count, most) for count in counts]
        shown.add_row(str(node), kind, *cells, str(sum(counts)))
    return shown


def _shaded(count: int, most: int) -> str:
    if count == 0:
        return "[dim]·[/dim]"
    level = 22 + 6 * round(3 * count / most)  # four greens of the 256 colours
    return f"[white on color({level})]{count}[/]"
