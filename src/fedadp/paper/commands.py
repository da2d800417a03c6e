"""`fedadp paper`: the paper's tables and figures, from one command each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fedadp.errors import SettingError, nearest
from fedadp.guard import guarded

PARTS = ("table1", "fig1", "fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "readings", "theory")
WORDS = {"all": "every part", "status": "how far each part is", "page": "write the page anew"}

Part = Annotated[
    list[str],
    typer.Argument(metavar="PART...", help=f"{', '.join(PARTS)}; or {', '.join(WORDS)}."),
]
Cnn = Annotated[
    str | None, typer.Option(help="Which reading of the CNN: cnn or cnn-valid. As the files say.")
]
Seeds = Annotated[
    int | None, typer.Option(min=1, help="Seeds 0, 1, 2 and so on. As the files say.")
]
Cells = Annotated[
    list[str] | None, typer.Option("--cell", help="Only this cell; give it again for more.")
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Runs side by side, a core for each.")
]
Home = Annotated[Path, typer.Option("--folder", help="The project's paper folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")]


@guarded
def paper_command(
    part: Part,
    seeds: Seeds = None,
    cnn: Cnn = None,
    cell: Cells = None,
    jobs: Jobs = 1,
    folder: Home = Path("paper"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper: run what is missing of a table or figure, and draw it.

    What was finished is not run again, what was stopped goes on. Every part's settings stand in a
    TOML file of its own, and its raw results beside it.
    """
    from fedadp.paper.carry_out import carry_out
    from fedadp.paper.page import write_page
    from fedadp.paper.parts import plan
    from fedadp.paper.status import show_results, show_status, status
    from fedadp.paper.theory import check_theory

    chosen = _chosen(part)
    if cnn not in (None, "cnn", "cnn-valid"):
        raise SettingError("--cnn", f"{cnn!r} is no reading; it takes cnn or cnn-valid")
    drawn = [name for name in chosen if name != "theory"]
    planned = plan(folder, drawn, cnn=cnn, seeds=seeds, cells=cell)
    if not {"status", "page"} & set(part):
        carry_out(planned, jobs=jobs, quiet=quiet or as_json)
        if "theory" in chosen:
            check_theory(folder, seeds or 3)
    if "status" not in part:
        page = write_page(folder)
        if not quiet and not as_json:
            typer.echo(f"written: {page}", err=True)
    found = status(folder, chosen, cnn=cnn, seeds=seeds, cells=cell)
    if as_json:
        typer.echo(json.dumps(found))
        return
    if "status" not in part:
        show_results(found)
    show_status(found)


def _chosen(parts: list[str]) -> list[str]:
    for name in parts:
        if name not in PARTS and name not in WORDS:
            known = [*PARTS, *WORDS]
            raise SettingError("PART", f"unknown part {name!r}{nearest(name, known)}")
    whole = set(parts) & WORDS.keys()
    return list(PARTS) if whole else list(dict.fromkeys(parts))
