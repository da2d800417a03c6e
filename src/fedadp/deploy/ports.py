"""Ports: which are free, and whether our server answers on one."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from fedadp.errors import RunError

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def check_free(port: int) -> None:
    """Complain unless this port can be listened on."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise RunError(f"--port: {port} cannot be had ({why}); leave it out") from error


def answers(port: int, authority: Path) -> bool:
    """Whether a server that this authority vouches for is there."""
    try:
        trust = ssl.create_default_context(cafile=str(authority))
        with (
            socket.create_connection((LOOPBACK, port), timeout=5) as plain,
            trust.wrap_socket(plain, server_hostname=LOOPBACK),
        ):
            return True
    except OSError:
        return False
