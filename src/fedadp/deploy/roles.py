"""The command lines of a deployment's processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fedadp.deploy.control import CONNECTION, program
from fedadp.deploy.place import Place

LOOPBACK = "127.0.0.1"  # nothing listens elsewhere; what nodes may reach is published by a proxy


def superlink(place: Place, keys: Path, port: int) -> Sequence[str]:
    """The server: TLS, nodes by their keys, and its state in a file that survives it."""
    return [
        program("flower-superlink"),
        "--ssl-ca-certfile", str(keys / "ca.crt"),
        "--ssl-certfile", str(keys / "server.crt"),
        "--ssl-keyfile", str(keys / "server.key"),
        "--enable-supernode-auth",
        "--database", str(place.database),
        "--isolation", "process",
        "--superexec-auth-secret-file", str(keys / "superexec.secret"),
        "--disable-runtime-dependency-installation",
        "--host", LOOPBACK, "--port", str(port),
    ]  # fmt: skip


def executor(keys: Path, port: int) -> Sequence[str]:
    """Runs the ServerApp, apart from the server."""
    return [
        program("flower-superexec"),
        "--root-certificates", str(keys / "ca.crt"),
        "--runtime-api-address", f"{LOOPBACK}:{port}",
        "--superexec-auth-secret-file", str(keys / "superexec.secret"),
    ]  # fmt: skip


def node(
    place: Place, keys: Path, number: int, nodes: int, address: str, port: int
) -> Sequence[str]:
    """One node; its data are what sites/NUMBER.toml in the app names, if that is there."""
    told: dict[str, int | str] = {"partition-id": number, "num-partitions": nodes}
    site = place.app / "sites" / f"{number}.toml"
    if site.exists():
        told["site"] = str(site)
    return [
        program("flower-supernode"),
        "--root-certificates", str(keys / "ca.crt"),
        "--superlink", address,
        "--auth-supernode-private-key", str(keys / "nodes" / f"node-{number}"),
        "--host", LOOPBACK, "--port", str(port),
        "--isolation", "subprocess",
        "--node-config", " ".join(f"{key}={json.dumps(value)}" for key, value in told.items()),
    ]  # fmt: skip


def connection(place: Place, keys: Path, port: int) -> None:
    """Tell `flwr` where the server is."""
    (place.flower / "config.toml").write_text(
        f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
        f'address = "{LOOPBACK}:{port}"\ninsecure = false\n'
        f"root-certificates = {json.dumps(str(keys / 'ca.crt'))}\n",
        encoding="utf-8",
    )
