"""``gem mcp-serve``."""

from __future__ import annotations

from typing import Any

import click

from gem_cli.completers import complete_ids
from gem_cli.output import json_option, print_json

__all__ = ["mcp_serve_command"]


@click.command("mcp-serve")
@click.argument("env_id", metavar="ID", shell_complete=complete_ids)
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="How clients talk to it.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, with --transport http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 for a free one.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of each session's first episode.")
@click.option("--wrappers", default="", help="Names of wrappers, innermost first: python_tool,…")
@click.option("--max-sessions", type=click.IntRange(min=1), default=64, show_default=True, help="Limit on clients.")
@click.option(
    "--idle-seconds",
    type=click.FloatRange(min=1.0),
    default=1800.0,
    show_default=True,
    help="Close a session after this time without a request.",
)
@json_option
def mcp_serve_command(
    env_id: str,
    transport: str,
    host: str,
    port: int,
    seed: int | None,
    wrappers: str,
    max_sessions: int,
    idle_seconds: float,
    as_json: bool,
) -> None:
    """Serve an environment to MCP clients.

    Clients get the tools reset and step, and those of the environment's tool wrappers. Each session plays its own
    episodes.

    \b
    Examples:
      gem mcp-serve game:Sudoku-v0-easy --seed 7
      gem mcp-serve math:GSM8K --wrappers python_tool --transport http --port 8000
    """  # noqa: D301
    import anyio

    import gem

    def make() -> gem.Env[Any, Any]:
        return gem.make(env_id, wrappers=wrappers)

    if transport == "stdio":
        from gem_tools.mcp.serve import serve_stdio

        # stdout carries the protocol only, so --json has nothing to print here.
        anyio.run(lambda: serve_stdio(make, name=env_id, seed=seed))
        return
    from gem_tools.mcp.serve import http_app

    app = http_app(make, name=env_id, seed=seed, max_sessions=max_sessions, idle_seconds=idle_seconds, host=host)
    with _listening(host, port) as listener:
        url = f"http://{_bracketed(host)}:{listener.getsockname()[1]}/mcp"
        if as_json:
            print_json({"id": env_id, "url": url, "seed": seed})
        else:
            click.echo(f"{env_id} is served at {url}; interrupt to stop", err=True)
        _run(app, listener)


def _listening(host: str, port: int) -> Any:
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Clients are queued from now on, so a client that reads the address can connect.
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host} port {port}: {error.strerror or error}") from error
    # asyncio only does this for sockets that it created. Otherwise each answer would wait 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _run(app: Any, listener: Any) -> None:
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on"))
    server.run(sockets=[listener])
