"""``gem hub serve``."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

import click

from gem_hub.cli.options import hub_option
from gem_hub.installer_index import installer_index
from gem_hub.serve import HubServer
from gem_hub.store import Store

__all__ = ["serve_command"]


@click.command("serve")
@hub_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Name or address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any that is free.")
@click.option(
    "--fallback",
    metavar="URL",
    help="Simple index to which installers are sent for names that this hub does not have; 'auto' for the one that "
    "pip or uv use on this machine, '' for none.  [default: what 'gem hub rebuild --fallback' has set]",
)
def serve_command(store: Store, host: str, port: int, fallback: str | None) -> None:
    """Serve a hub over HTTP, for pip, uv and gem.

    There are no accounts: every machine that reaches the address can read everything in the hub.

    \b
    Examples:
      gem hub serve --hub /srv/hub
      gem hub serve --hub /srv/hub --fallback auto
      gem hub serve --hub /srv/hub --host 0.0.0.0 --port 8080
    """
    if fallback is None:
        fallback = store.truth.settings().fallback
    elif fallback == "auto":
        fallback = installer_index()
    with HubServer(store.folder, host, port, fallback, _report) as server:
        _introduce(server, host)
        with suppress(KeyboardInterrupt):  # an interrupt is the normal end
            server.serve_forever()


def _introduce(server: HubServer, host: str) -> None:
    local = _is_loopback(host)
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104  # only compared
    place = f"[{name}]:{server.port}" if ":" in name else f"{name}:{server.port}"
    address = f"http://{place}/"
    trust = "" if local else f" --trusted-host {place}"
    click.echo(f"Serving {server.folder} at {address}")
    click.echo("  reached from this machine only" if local else "  reached by every machine that reaches this one")
    click.echo(f"  unknown names: {f'sent to {server.fallback}' if server.fallback else '404 (see --fallback)'}")
    click.echo(f"  pip install --index-url {address}simple/{trust} NAME")
    click.echo(f"  uv pip install --default-index {address}simple/ NAME")
    click.echo(f"  gem hub use {address}")
    click.echo("Ctrl-C ends it.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _report(method: str, path: str, status: int) -> None:
    click.echo(f"{method} {path} {status}", err=True)
