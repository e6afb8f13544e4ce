"""``gem hub serve``."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from pathlib import Path

import click

from gem_hub.cli.options import HubPlace, existing_hub, open_store
from gem_hub.installer_index import installer_index
from gem_hub.serve import HubServer
from gem_hub.signing.renewal import SignatureRenewal
from gem_hub.store import Store

__all__ = ["serve_command"]


@click.command("serve")
@click.option(
    "--hub",
    "place",
    metavar="DIR",
    type=HubPlace(),
    help="Folder of the hub, or s3://BUCKET/FOLDER; with --publish, a new one is made.  [default: the current folder, "
    "if it is a hub]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Name or address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any that is free.")
@click.option(
    "--fallback",
    metavar="URL",
    help="Simple index to which installers are sent for names that this hub does not have; 'auto' for the one that "
    "pip or uv use on this machine, '' for none.  [default: what 'gem hub rebuild --fallback' has set]",
)
@click.option("--publish", is_flag=True, help="Run a registry: take uploads from the holders of tokens.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="Settings of the registry, in TOML.",
)
@click.option("--database", metavar="URL", help="The registry's database.  [default: a file in the private folder]")
@click.option(
    "--registration",
    type=click.Choice(["open", "invite", "closed"]),
    help="Who may create an account.  [default: open on this machine alone, invite otherwise]",
)
@click.option("--tls-cert", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Serve TLS with this.")
@click.option("--tls-key", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="The certificate's key.")
def serve_command(
    place: Path | str | None,
    host: str,
    port: int,
    fallback: str | None,
    publish: bool,
    config: Path | None,
    database: str | None,
    registration: str | None,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Serve a hub over HTTP, for pip, uv and gem.

    Every machine that reaches the address can read everything in the hub. With --publish, the holders of tokens can
    also publish, with uv publish, twine, hatch or gem hub publish.

    \b
    Examples:
      gem hub serve --hub /srv/hub
      gem hub serve --hub /srv/hub --fallback auto
      gem hub serve --hub /srv/hub --host 0.0.0.0 --port 8080
      gem hub serve --hub /srv/hub --publish
    """
    only = {
        "--config": config,
        "--database": database,
        "--registration": registration,
        "--tls-cert": tls_cert,
        "--tls-key": tls_key,
    }
    if not publish and any(only.values()):
        given = ", ".join(name for name, value in only.items() if value)
        raise click.UsageError(f"{given}: belongs to a registry; add --publish")
    if publish:
        from gem_hub.cli.registry_options import settings_of
        from gem_hub.cli.serve_registry import is_loopback, new_or_existing, serve_registry

        store = new_or_existing(open_store(place if place is not None else Path()))
        if registration is None and config is None:
            registration = "open" if is_loopback(host) else "invite"
        settings = settings_of(config, database=database, registration=registration)
        serve_registry(store, settings, host, port, _fallback(store, fallback), tls_cert or "", tls_key or "")
        return
    store = existing_hub(click.get_current_context(), place)
    renewal = SignatureRenewal(store, lambda what: click.secho(what, fg="red", err=True), elsewhere=True)
    with HubServer(store.files, host, port, _fallback(store, fallback), _report) as server, renewal:
        _introduce(server, host)
        with suppress(KeyboardInterrupt):  # an interrupt is the normal end
            server.serve_forever()


def _fallback(store: Store, asked: str | None) -> str:
    if asked is None:
        return store.truth.settings().fallback
    return installer_index() if asked == "auto" else asked


def _introduce(server: HubServer, host: str) -> None:
    local = _is_loopback(host)
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104  # only compared
    place = f"[{name}]:{server.port}" if ":" in name else f"{name}:{server.port}"
    address = f"http://{place}/"
    trust = "" if local else f" --trusted-host {place}"
    click.echo(f"Serving {server.pages.files.address} at {address}")
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
