"""The configuration of the proxy that hides all of Flower's APIs but the nodes' own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from fedadp.errors import SettingError


def proxy_file(keys: Path, host: str, port: int, superlink: int) -> str:
    """What nginx is told."""
    folder = str(keys.resolve())
    if set(folder) & set('"\\$\n'):  # they mean something else to nginx
        raise SettingError("DIR", f"{folder!r} cannot be written for nginx; take a plainer name")
    text = (files("fedadp") / "deploy" / "nginx.conf.txt").read_text(encoding="utf-8")
    words = {"folder": folder, "host": host, "port": port, "superlink": superlink}
    return Template(text).substitute(words)
