"""``gem serve``: environments as a service."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import signal
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gem.errors import ArgumentError
from gem_cli.completers import complete_ids
from gem_cli.output import json_option, print_json

if TYPE_CHECKING:
    from gem_server.server import EnvironmentServer

__all__ = ["serve_command"]

F = TypeVar("F", bound=Callable[..., Any])


def _setting(name: str, kind: Any, default: object, text: str) -> Callable[[F], F]:
    return click.option(name, type=kind, default=default, show_default=True, help=text)


def _several(name: str, parameter: str, text: str, **more: Any) -> Callable[[F], F]:
    return click.option(name, parameter, multiple=True, help=text, **more)


@click.command("serve")
@click.argument("targets", nargs=-1, required=True, metavar="ID…", shell_complete=complete_ids)
@_setting("--host", str, "127.0.0.1", "Address to listen on.")
@_setting("--port", click.IntRange(0, 65535), 8080, "0 for any free port.")
@click.option("--workers", type=click.IntRange(1), help="Worker processes; default: one for each processor.")
@_setting("--threads", click.IntRange(1), 64, "Waiting steps of a worker.")
@_several("--token", "tokens", "Bearer token of clients; may be repeated. See also --token-file.")
@click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), help="Tokens, one a line.")
@click.option("--no-token", is_flag=True, help="Serve other machines without a token.")
@_setting("--max-sessions", click.IntRange(1), 4096, "Open sessions.")
@_setting("--max-connections", click.IntRange(1), 4096, "Open connections.")
@_setting("--max-message", click.IntRange(1024), 8 << 20, "Bytes of a message.")
@_setting("--max-action", click.IntRange(1), 1 << 20, "Characters of an action.")
@click.option("--max-steps", type=click.IntRange(1), help="Steps of one session; default: no limit.")
@_setting("--step-timeout", click.FloatRange(0.01), 300.0, "Seconds of a step.")
@_setting("--idle-timeout", click.FloatRange(1), 3600.0, "Seconds until a session that nobody uses is closed.")
@_setting("--reconnect-timeout", click.FloatRange(0), 120.0, "The same, once its connection is lost.")
@_setting("--drain-timeout", click.FloatRange(0), 30.0, "Seconds for open sessions after SIGTERM.")
@click.option("--allow-arguments", is_flag=True, help="Let clients pass constructor arguments.")
@_several("--allow-wrapper", "wrappers", "Let clients ask for this wrapper; may be repeated.", metavar="NAME")
@_several("--origin", "origins", "Origin of pages that may use the server; may be repeated.")
@_several("--allow-host", "hosts", "Name of this server in requests without a token; may be repeated.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="Certificate chain, PEM.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its key, PEM.")
@json_option
def serve_command(
    targets: tuple[str, ...],
    host: str,
    port: int,
    workers: int | None,
    tokens: tuple[str, ...],
    token_file: Path | None,
    no_token: bool,
    allow_arguments: bool,
    tls_cert: str | None,
    tls_key: str | None,
    as_json: bool,
    **limits: object,
) -> None:
    """Serve environments over WebSocket and HTTP.

    ID is an id (game:Sudoku-v0) or a namespace (game) with all its ids. A program on any machine then uses
    gem.make("http://HOST:PORT/game:Sudoku-v0"), and gem.make_vec(…, mode="server") for many at once.

    A browser plays them by hand at http://HOST:PORT/play, and the client of OpenEnv at http://HOST:PORT/openenv/ID.

    On an address that other machines reach, clients need a token: from --token, --token-file, the variable
    GEM_SERVER_TOKEN, or a new one that the command prints. SIGTERM lets open sessions end first.

    \b
    Examples:
      gem serve game:Sudoku-v0 game:Wordle-v0
      gem serve game math --host 0.0.0.0 --token-file tokens.txt --max-sessions 10000
    """
    from gem_processes import usable_cpus
    from gem_server.access import tokens_from_file
    from gem_server.certificates import server_tls
    from gem_server.openenv import add_openenv
    from gem_server.play.pages import add_play_page
    from gem_server.server import EnvironmentServer, served_specs
    from gem_server.settings import ServingSettings

    known = [*tokens, *tokens_from_file(token_file)]
    if not known and os.environ.get("GEM_SERVER_TOKEN"):
        known = [os.environ["GEM_SERVER_TOKEN"]]
    made = None
    if not known and not no_token and not _is_loopback(host):
        made = secrets.token_urlsafe(24)
        known = [made]
    settings = ServingSettings(workers=workers or usable_cpus(), arguments=allow_arguments, **limits)  # type: ignore[arg-type]
    if bool(tls_cert) != bool(tls_key):
        raise ArgumentError("--tls-cert and --tls-key go together")
    tls = None if tls_cert is None else server_tls(tls_cert, tls_key)
    server = EnvironmentServer(served_specs(targets), known, settings)
    add_openenv(server)
    add_play_page(server)
    asyncio.run(_serve(server, host, port, tls, made, as_json))


async def _serve(
    server: EnvironmentServer, host: str, port: int, tls: ssl.SSLContext | None, made: str | None, as_json: bool
) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals: list[int] = []

    def on_signal(number: int) -> None:
        signals.append(number)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    try:
        bound = await server.start(host, port, tls)
    except OSError as error:
        raise ArgumentError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    shown = f"[{host}]" if ":" in host else host
    url = f"{'http' if tls is None else 'https'}://{shown}:{bound}"
    ids = sorted(server.sessions.specs)
    if as_json:
        print_json({"url": url, "environments": ids, "token": made})
    else:
        click.echo(f"Serving {len(ids)} environment{'s' if len(ids) > 1 else ''} at {url}, such as {url}/{ids[0]}")
        if made is not None:
            click.echo(f"Token of clients (GEM_SERVER_TOKEN): {made}")
    sys.stdout.flush()
    await ended.wait()
    if signals[0] == signal.SIGTERM:
        ended.clear()
        draining = asyncio.ensure_future(server.drain())
        await asyncio.wait([draining, asyncio.ensure_future(ended.wait())], return_when=asyncio.FIRST_COMPLETED)
    await server.stop()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
