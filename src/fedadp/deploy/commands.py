"""`fedadp flower`: write an app, make keys, and run a federation."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from fedadp.guard import guarded

app = typer.Typer(
    help="A federation on Flower: write its app, make its keys, run it, look at it.",
    no_args_is_help=True,
)
App = Annotated[Path, typer.Argument(help="The app's folder.", metavar="DIR")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


@app.command("init")
@guarded
def init_command(
    folder: Annotated[Path, typer.Argument(help="A folder that is new or empty.", metavar="DIR")],
) -> None:
    """Write a complete Flower app, with one place for your own data and model."""
    from fedadp.deploy.init import write_app

    for path in write_app(folder):
        typer.echo(path)


@app.command("pki")
@guarded
def pki_command(
    folder: Annotated[Path, typer.Argument(help="Where the keys go.", metavar="DIR")],
    nodes: Annotated[int, typer.Option(help="How many nodes.")] = 3,
    host: Annotated[
        list[str] | None,
        typer.Option(help="A name or address by which nodes reach the server; again for more."),
    ] = None,
    publish: Annotated[
        int, typer.Option(min=1, max=65535, help="The proxy's port, which nodes connect to.")
    ] = 8443,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="The SuperLink's own port, on loopback.")
    ] = 8000,
) -> None:
    """Make an authority, the server's certificate, a key per node, a secret and a proxy's file.

    What is there is kept: give more --nodes to add some.
    """
    from fedadp.deploy.pki import Keys
    from fedadp.deploy.proxy import proxy_file

    keys, hosts = Keys(folder), host or []
    keys.make(nodes, hosts)
    name = hosts[0] if hosts else "localhost"
    keys.write("nginx.conf", lambda: proxy_file(folder, name, publish, port).encode())
    for path in keys.made:
        typer.echo(path)
    if keys.kept:
        typer.echo(f"kept {len(keys.kept)} files that were there", err=True)


@app.command("up")
@guarded
def up_command(
    folder: App = Path(),
    nodes: Annotated[int, typer.Option(help="How many nodes on this machine.")] = 3,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="Change the experiment: rounds=5."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The run folder; runs/deployment, unless told."),
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Start the run over.")] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The SuperLink's; a free one unless told.")
    ] = None,
    pki: Annotated[
        Path | None, typer.Option(help="Keys of `fedadp flower pki`; made unless told.")
    ] = None,
) -> None:
    """Run the app in a whole deployment on this machine: TLS, keys, supervised nodes.

    It ends with the run. Its exit code says whether that was completed (0), ended because too few
    nodes replied (3), or failed (4). Ctrl-C ends all.
    """
    from fedadp.deploy.place import Place
    from fedadp.deploy.up import Wanted, up
    from fedadp.deploy.up import changes as told
    from fedadp.errors import DeploymentError, QuorumError

    _speak()
    place = Place(folder)
    declared = place.check()
    config: dict[str, str | bool] = {}
    if "out" in declared or out is not None:
        config["out"] = str((out or place.runs / "deployment").resolve())
    if changes:
        config["set"] = told(changes)
    if restart:
        config["restart"] = True
    keys = None if pki is None else pki.resolve()
    wanted = Wanted(app=folder, nodes=nodes, port=port, keys=keys, config=config)
    state = up(wanted, typer.echo)
    if not state.completed:
        _, sign, why = state.details.partition(QuorumError.SIGN)
        if sign:
            raise QuorumError(f"{why}; see {place.logs}")
        why = "" if state.details in ("", "N/A") else f" ({state.details})"
        raise DeploymentError(f"the run is {state.status}{why}; see {place.logs}")
    typer.echo("the run is completed, and everything has ended")


@app.command("status")
@guarded
def status_command(folder: App = Path(), as_json: AsJson = False) -> None:
    """What is up, and how far the run is: asked of the server, not remembered."""
    from fedadp.deploy.status import sentences, status

    found = status(folder)
    typer.echo(json.dumps(found) if as_json else "\n".join(sentences(found)))


@app.command("down")
@guarded
def down_command(folder: App = Path()) -> None:
    """End the deployment, from any shell, with whatever was left behind."""
    from fedadp.deploy.status import down

    typer.echo(down(folder))


def _speak() -> None:
    """What the supervisor does is said on standard error."""
    log = logging.getLogger("fedadp")
    log.setLevel(logging.INFO)
    if not log.handlers:
        log.addHandler(logging.StreamHandler())
