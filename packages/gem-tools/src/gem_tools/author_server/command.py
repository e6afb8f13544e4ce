"""``gem skill serve``."""

from __future__ import annotations

from pathlib import Path

import click

from gem_cli.output import json_option

__all__ = ["serve_command"]


@click.command("serve")
@click.option(
    "--dir",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The working folder.  [default: the current one]",
)
@click.option("--base-url", "-u", help="Address of a model's server, for evaluations; without it, policies play.")
@click.option("--model", "-m", help="Name of the model at --base-url.")
@json_option
def serve_command(folder: Path, base_url: str | None, model: str | None, as_json: bool) -> None:
    """Serve GEM's commands to a coding agent, over standard input and output.

    The tools of this MCP server are list, info, check, eval and show. Each call has limits on its time, its episodes
    and its output, and no path in it leads out of the working folder. An environment runs with your rights, as it does
    in a terminal.

    \b
    Examples:
      gem skill serve
      gem skill serve --dir ~/my-envs --base-url http://localhost:8000/v1
      claude mcp add gem -- gem skill serve
    """  # noqa: D301
    import anyio

    from gem_tools.author_server.command_tools import ModelAddress
    from gem_tools.author_server.server import serve_author

    if model is not None and base_url is None:
        raise click.UsageError("--model names a model at --base-url, which is missing")
    # stdout carries the protocol only, so --json has nothing to print here.
    anyio.run(serve_author, folder, None if base_url is None else ModelAddress(base_url, model))
