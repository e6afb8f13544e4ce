"""``gem hub serve --publish``."""

from __future__ import annotations

import ipaddress
import logging
import socket
import sys
from contextlib import nullcontext, suppress

import click

from gem_hub.errors import HubRefusal
from gem_hub.registry.app import registry_app
from gem_hub.registry.conformance_worker import ConformanceWorker, no_kit_because
from gem_hub.registry.organisations.private_hubs import private_services
from gem_hub.registry.recovery import recover
from gem_hub.registry.server import listen, registry_server
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.webhooks.sender import WebhookSender
from gem_hub.signing.renewal import SignatureRenewal
from gem_hub.site.refresh import SiteRefresher
from gem_hub.storage import PRIVATE
from gem_hub.store import Store

__all__ = ["is_loopback", "serve_registry"]


def serve_registry(
    store: Store,
    settings: RegistrySettings,
    host: str,
    port: int,
    fallback: str,
    certificate: str = "",
    key: str = "",
) -> None:
    """Serve a registry until a signal.

    Raises:
        HubRefusal: if the address or the database cannot be used.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with listen(host, port) as listener:
        services = RegistryServices(store, settings, fallback)
        try:
            _serve(services, listener, host, certificate, key)
        finally:
            services.close()


def _serve(services: RegistryServices, listener: socket.socket, host: str, certificate: str, key: str) -> None:
    settings = services.settings
    services.conformance_note = no_kit_because(services)
    recover(services)
    services.store.taken()  # reading a large hub's names takes seconds, which no upload should wait for
    services.counters.sweep()
    worker = ConformanceWorker(services, lambda what: click.secho(what, dim=True, err=True))
    server = registry_server(
        registry_app(services, _report),
        settings.connections,
        settings.trusted_proxies,
        certificate,
        key,
        settings.connections_per_address,
    )
    _introduce(services, host, listener.getsockname()[1], bool(certificate))
    with (
        nullcontext() if services.conformance_note else worker,
        SignatureRenewal(
            services.store,
            lambda what: click.secho(what, fg="red", err=True),
            others=lambda: [hub.store for hub in private_services(services)],
        ),
        WebhookSender(services, lambda what: click.secho(what, dim=True, err=True)),
        SiteRefresher(services.store, lambda what: click.secho(what, fg="red", err=True)),
        suppress(KeyboardInterrupt),  # an interrupt is the normal end, which uvicorn passes on
    ):
        server.run(sockets=[listener])


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def new_or_existing(store: Store) -> Store:
    """Return a hub; a folder or bucket that is empty or does not exist becomes one.

    Raises:
        HubRefusal: if it holds other things.
    """
    names = store.files.names("")
    if "root.json" not in names:
        if any(name != PRIVATE for name in names):
            raise HubRefusal(
                f"{store.files.address} is no hub (it has no root.json); name one, or an empty folder for a new one"
            )
        store.rebuild()
    return store


def _introduce(services: RegistryServices, host: str, port: int, tls: bool) -> None:
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    address = f"{'https' if tls else 'http'}://{place}/"
    click.echo(f"Serving {services.store.files.address} at {address}, and taking uploads")
    click.echo(f"  accounts: {services.settings.registration}")
    click.echo(f"  operators: {', '.join(services.store.operators())}")
    click.echo(f"  conformance kit: {services.conformance_note or 'runs here, in a sandbox'}")
    click.echo(f"  database: {services.database.engine.url.render_as_string(hide_password=True)}")
    if not tls and not is_loopback(host):
        click.secho("  WARNING: tokens travel unencrypted; put a proxy with TLS in front, or name --tls-cert", fg="red")
    click.echo(f"  gem hub use {address}")
    click.echo(f"  uv publish --publish-url {address}upload/ --token TOKEN dist/*.whl")
    click.echo(f"  twine upload --repository-url {address}upload/ -u __token__ -p TOKEN dist/*.whl")
    click.echo("Ctrl-C ends it.")
    sys.stdout.flush()


def _report(method: str, path: str, status: int) -> None:
    click.echo(f"{method} {path} {status}", err=True)
