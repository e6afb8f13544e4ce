"""``gem terminal worker``."""

from __future__ import annotations

import ipaddress
import secrets
import signal
import sys
import threading
from pathlib import Path

import click

from gem.errors import ArgumentError
from gem_cli.output import json_option, print_json
from gem_terminal.cli.options import EngineChoice
from gem_terminal.engines import NAMES

__all__ = ["worker_command"]


@click.command("worker")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=7070, show_default=True, help="0 for any free port.")
@click.option(
    "--engine",
    "engine_name",
    type=EngineChoice(NAMES),
    default="namespace",
    show_default=True,
    help="The engine that runs the containers on this machine.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Tokens, one a line; each is a user.  [default: the one in GEM_TERMINAL_TOKEN, or a new one]",
)
@click.option("--containers", type=click.IntRange(1), default=64, show_default=True, help="The most at a time.")
@click.option(
    "--lease",
    type=click.FloatRange(0.1, 86400.0),
    default=60.0,
    show_default=True,
    help="Seconds without a word from a client, after which its containers are removed.",
)
@click.option("--sessions", type=click.IntRange(1), default=64, show_default=True, help="Clients at a time.")
@click.option("--upload", type=click.IntRange(0), default=8192, show_default=True, help="MiB of files from one client.")
@click.option("--allow-base-images", is_flag=True, help="Let clients add base images, which all clients share.")
@click.option("--allow-host-network", is_flag=True, help="Let clients give containers this machine's network.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="Certificate chain, PEM.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its key, PEM.")
@json_option
def worker_command(
    host: str,
    port: int,
    engine_name: str,
    token_file: Path | None,
    containers: int,
    lease: float,
    sessions: int,
    upload: int,
    allow_base_images: bool,
    allow_host_network: bool,
    tls_cert: str | None,
    tls_key: str | None,
    as_json: bool,
) -> None:
    """Offer the containers of this machine to trainers on others.

    A trainer uses them with engine="wss://HOST:PORT", and those of several machines with
    engine="fleet:wss://one:7070,wss://two:7070". It needs the token in GEM_TERMINAL_TOKEN. Who has the token starts
    containers here and builds images, as a user of this machine would, but reads none of its files.

    When a trainer ends, the worker removes its containers; when it is killed or its machine is lost, it does so at
    the end of the lease. SIGTERM and Ctrl-C end the worker with all containers. Without --tls-cert, use it only behind
    a tunnel or a proxy that encrypts, or in a network that nobody else hears.

    \b
    Examples:
      gem terminal worker                                     for trainers on this machine
      gem terminal worker --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --token-file tokens.txt
    """
    from gem_server.access import tokens_from_file
    from gem_server.certificates import server_tls
    from gem_server.client.address import token_from_surroundings
    from gem_terminal.engines import engine_by_name
    from gem_terminal_remote.workers.worker import EngineWorker

    if bool(tls_cert) != bool(tls_key):
        raise ArgumentError("--tls-cert and --tls-key go together")
    tls = None if tls_cert is None else server_tls(tls_cert, tls_key)
    tokens, made = tokens_from_file(token_file), None
    if not tokens:
        given = token_from_surroundings("GEM_TERMINAL_TOKEN")
        made = None if given else secrets.token_urlsafe(24)
        tokens = [given or str(made)]
    engine = engine_by_name(engine_name)
    engine.reap()
    worker = EngineWorker(
        engine, tokens, capacity=containers, lease=lease, most_sessions=sessions, most_files=upload << 20,
        bases=allow_base_images, host_network=allow_host_network,
    )  # fmt: skip
    try:
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        try:
            bound = worker.start(host, port, tls)
        except OSError as error:
            raise ArgumentError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
        shown = f"[{host}]" if ":" in host else host
        url = f"{'ws' if tls is None else 'wss'}://{shown}:{bound}"
        if as_json:
            print_json({"url": url, "engine": engine.name, "containers": containers, "token": made})
        else:
            click.echo(f"The {engine.name} engine of this machine is at {url}, for {containers} containers at a time.")
            if made is not None:
                click.echo(f"Token of clients (GEM_TERMINAL_TOKEN): {made}")
            if tls is None and not _is_loopback(host):
                click.secho("Without --tls-cert, everybody between here and there reads the token.", fg="yellow")
        sys.stdout.flush()
        ended.wait()
    finally:
        worker.close()


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
