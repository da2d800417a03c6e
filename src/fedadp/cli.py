"""The command line. What needs torch is imported where it is used: `--help` is quick."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import fedadp
from fedadp.deploy.commands import app as flower_app
from fedadp.guard import guarded, shown
from fedadp.paper.commands import paper_command
from fedadp.usage import Sentences

app = typer.Typer(
    name="fedadp",
    cls=Sentences,
    help="Adaptive weighting for federated learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    rich_markup_mode="rich",
)
data_app = typer.Typer(help="The data sets: list, fetch, and draw who holds what.")
app.add_typer(data_app, name="data")
app.add_typer(flower_app, name="flower")
app.command("paper")(paper_command)

File = Annotated[Path, typer.Argument(help="The experiment, a TOML file.", metavar="EXPERIMENT")]
Begun = Annotated[
    Path,
    typer.Argument(help="The experiment, a TOML file; or a run's folder.", metavar="EXPERIMENT"),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="The folder to write to; runs/NAME unless told.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="KEY=VALUE", help="Change a setting: strategy.alpha=3."),
]
Restart = Annotated[bool, typer.Option("--restart", help="Start over, and drop what is there.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with what is there, as always; if nothing is, fail.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")]
Target = Annotated[
    float | None, typer.Option(help="Stop at this test accuracy, as 0.95; overrides the file.")
]

Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Runs side by side, a core for each.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fedadp {fedadp.__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which this is.")
    ] = False,
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False,
) -> None:
    """Adaptive weighting for federated learning."""
    shown.traceback = debug


@app.command("run")
@guarded
def run_command(
    experiment: Begun,
    out: Out = None,
    changes: Set = None,
    target: Target = None,
    jobs: Jobs = 1,
    resume: Resume = False,
    restart: Restart = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment, or go on with it where its folder left off.

    Several strategies, seeds or cells in the file make a sweep, a folder for each run.
    """
    from fedadp.report.places import Places

    places = Places(experiment, out)
    cells = places.cells(_changes(changes, target))
    _sweep(places, cells, as_json, quiet=quiet, jobs=jobs, resume=resume, restart=restart)


@app.command("compare")
@guarded
def compare_command(
    experiment: Begun,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            help="A strategy to compare; give it again for more, the first is the baseline. "
            "Those of the file against fedavg, unless told."
        ),
    ] = None,
    out: Out = None,
    changes: Set = None,
    target: Target = None,
    jobs: Jobs = 1,
    resume: Resume = False,
    restart: Restart = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare strategies on the same data, initial model, batches and schedule."""
    from fedadp.experiment import rivals
    from fedadp.report.places import Places

    places = Places(experiment, out)
    cells = places.cells(_changes(changes, target))
    against = {name: rivals(cell, strategy or []) for name, cell in cells.items()}
    _sweep(places, against, as_json, quiet=quiet, jobs=jobs, resume=resume, restart=restart)


@app.command("list")
@guarded
def list_command(as_json: AsJson = False) -> None:
    """What there is to choose from: strategies, models, data sets, partitions, engines."""
    from rich.table import Table

    from fedadp.catalogue import catalogue
    from fedadp.console import Console

    choices = catalogue()
    if as_json:
        typer.echo(json.dumps(choices, indent=2))
        return
    table = Table(show_header=False, show_edge=False, box=None, pad_edge=False)
    for kind, entries in choices.items():
        table.add_row(f"[bold]{kind}[/bold]")
        for name, line in entries.items():
            table.add_row(f"  {name}", line)
    Console().print(table)


@data_app.callback(invoke_without_command=True)
@guarded
def data_command(context: typer.Context, as_json: AsJson = False) -> None:
    """List the data sets, and whether they are here."""
    if context.invoked_subcommand is not None:
        return
    from fedadp.catalogue import catalogue
    from fedadp.data.fetch import cached
    from fedadp.data.recipes import RECIPES

    lines = catalogue()["data"]
    here = {name: cached(name) for name in lines if name in RECIPES}
    if as_json:
        found = {name: {"line": line, "here": here.get(name)} for name, line in lines.items()}
        typer.echo(json.dumps(found, indent=2))
        return
    for name, line in lines.items():
        state = {True: "  (here)", False: "  (not fetched yet)", None: ""}[here.get(name)]
        typer.echo(f"{name:14} {line}{state}")


@data_app.command("fetch")
@guarded
def data_fetch(
    name: Annotated[str, typer.Argument(help="The data set, such as mnist.")],
) -> None:
    """Fetch a data set, check it, and keep it for later."""
    from fedadp.data.fetch import fetch

    typer.echo(f"{name}: {fetch(name, report=lambda line: typer.echo(line, err=True))}")


@data_app.command("show")
@guarded
def data_show(
    experiment: File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A PNG to draw it in.")] = None,
    changes: Set = None,
    as_json: AsJson = False,
) -> None:
    """Draw who holds what: nodes by classes."""
    from fedadp.console import Console
    from fedadp.experiment import load
    from fedadp.federation import gather
    from fedadp.report.holdings import holdings_table
    from fedadp.report.plots import who_holds_what

    one = load(experiment, changes or [])[0]
    federation = gather(one.data, one.partition, one.seed)
    if as_json:
        found = {"kinds": federation.kinds, "examples_per_class": federation.counts.tolist()}
        typer.echo(json.dumps(found))
    else:
        Console().print(holdings_table(federation))
    if out is not None:
        title = f"{experiment.stem}, seed {one.seed}"
        typer.echo(f"drawn in {who_holds_what(federation, title, out)}", err=as_json)


def _changes(changes: list[str] | None, target: float | None) -> list[str]:
    return [*(changes or []), *([] if target is None else [f"target={target}"])]


def _sweep(
    places: Any,
    cells: dict[str, Any],
    as_json: bool,
    *,
    quiet: bool,
    jobs: int,
    resume: bool,
    restart: bool,
) -> None:
    from fedadp.report.sweep import sweep

    homes = {name: places.homes(name, cell) for name, cell in cells.items()}
    places.check([home for some in homes.values() for home in some], resume, restart)
    found = {}
    for name, experiments in cells.items():
        if name and not as_json:
            typer.echo(f"\n{name}")
        found[name] = sweep(
            experiments, homes[name], places.folder / name, restart=restart,
            quiet=quiet or as_json, show=not as_json, jobs=jobs,
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(found.get("", found)))
