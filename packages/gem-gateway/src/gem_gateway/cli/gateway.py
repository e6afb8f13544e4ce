"""``gem gateway``: a gateway for the model calls of agent programs, with a session for each key."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gem.errors import GemError
from gem_cli.output import Table, json_option
from gem_cli.terminal_text import printable
from gem_eval.cli.interruption import run_interruptibly

if TYPE_CHECKING:
    from gem_eval.clients import ModelClient
    from gem_gateway.budgets import CallBudget
    from gem_gateway.dialects.base import CallSettings
    from gem_gateway.gateway import Gateway
    from gem_gateway.sessions import GatewaySession

__all__ = ["gateway_command"]

_KEY_VARIABLE = "GEM_GATEWAY_KEY"
_POSITIVE = click.IntRange(min=1)


@click.command("gateway")
@click.option("--base-url", "-u", required=True, help="Address of the model's server, as for gem eval.")
@click.option("--model", "-m", help="Name of the model; without it, the only one that the server has.")
@click.option("--api-key-env", metavar="NAME", help="Variable that holds the server's key  [OPENAI_API_KEY]")
@click.option(
    "--protocol",
    type=click.Choice(["chat", "gemini", "messages", "responses"]),
    help="What the server speaks: chat completions, Google's Gemini, Anthropic's Messages, OpenAI's Responses  [chat]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 for any free port.")
@click.option("--socket", type=click.Path(path_type=Path), help="Unix socket to listen on instead.")
@click.option(
    "--journal",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the records of calls: NAME.jsonl for each session.",
)
@click.option("--exact-tokens", is_flag=True, help="Prompts hold the ids that were sampled; the server must give them.")
@click.option("--calls", type=_POSITIVE, help="Most calls of a session.")
@click.option("--prompt-tokens", type=_POSITIVE, help="Most tokens of a session's prompts together.")
@click.option("--completion-tokens", type=_POSITIVE, help="Most sampled tokens of a session.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="How long a session lasts.")
@click.option(
    "--cost", type=click.FloatRange(min=0, min_open=True), help="Highest price of a session's tokens, by the prices."
)
@click.option("--price-input", type=click.FloatRange(min=0), default=0.0, help="Price of a million prompt tokens.")
@click.option("--price-output", type=click.FloatRange(min=0), default=0.0, help="Price of a million sampled tokens.")
@click.option(
    "--server-tools",
    type=click.Choice(["drop", "refuse"]),
    default="drop",
    show_default=True,
    help="Tools that a hosted API would run: leave them out, with a note, or refuse the call.",
)
@click.option(
    "--server-tool",
    "run_tools",
    metavar="KIND=TOOL",
    multiple=True,
    help="Carry out web_search=search:WHERE (a corpus, an address, a web search) or code_interpreter=python here.",
)
@json_option
def gateway_command(
    base_url: str,
    model: str | None,
    api_key_env: str | None,
    protocol: str | None,
    host: str,
    port: int,
    socket: Path | None,
    journal: Path | None,
    exact_tokens: bool,
    server_tools: str,
    run_tools: tuple[str, ...],
    as_json: bool,
    **budget: Any,
) -> None:
    """Take the model calls of agent programs, and have a model answer them.

    A program is pointed at the printed address, in OpenAI's chat completions, completions or Responses, in
    Anthropic's Messages or in Google's Gemini, and given the printed key. With KEY.NAME in place of KEY, its calls
    are a session of that name, with a budget and a record of its own.

    The key, of at least 16 characters, is taken from the variable GEM_GATEWAY_KEY, or made.

    \b
    Examples:
      gem gateway --base-url http://localhost:8000/v1
      gem gateway --base-url http://localhost:8000/v1 --journal calls --calls 200 --port 0 --json
      gem gateway --base-url https://api.anthropic.com --model NAME --protocol messages --journal calls
    """
    from gem_gateway.budgets import CallBudget
    from gem_gateway.dialects.base import CallSettings
    from gem_gateway.tool_specs import declared_tools

    options: dict[str, Any] = {} if protocol is None else {"protocol": protocol}
    if api_key_env is not None:
        if not os.environ.get(api_key_env):
            raise click.UsageError(f"the environment variable {api_key_env} with the server's key is not set")
        options["api_key"] = os.environ[api_key_env]
    if journal is not None and journal.exists() and any(journal.iterdir()):
        problem = f"{journal} is not empty; a record begins in a folder of its own"
        raise click.BadParameter(problem, param_hint="--journal")
    try:
        settings = CallSettings(server_tools=server_tools, run_tools=declared_tools(run_tools))
    except GemError as error:
        raise click.BadParameter(str(error), param_hint="--server-tool") from error
    sessions = _Sessions(journal, exact_tokens, CallBudget(**budget), settings)
    try:
        run_interruptibly(_serve(base_url, model, options, (host, port, socket), sessions, as_json))
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {socket or f'{host} port {port}'} ({error.strerror or error}); "
            "choose another with --port, or 0 for any"
        ) from error


@dataclass
class _Sessions:
    """What all sessions of the command have in common, and those that there were."""

    journal: Path | None
    exact_tokens: bool
    budget: CallBudget
    settings: CallSettings
    opened: list[GatewaySession] = field(default_factory=list)

    def open(self, gateway: Gateway, client: ModelClient, name: str, key: str) -> GatewaySession:
        """Return a new session with a record of its own."""
        from gem_gateway.lineages.journal import CallJournal
        from gem_gateway.lineages.recorder import LineageRecorder

        file = None if self.journal is None else CallJournal(self.journal / f"{name}.jsonl")
        session = gateway.open(
            LineageRecorder(client, exact_tokens=self.exact_tokens, journal=file),
            name=name,
            model=client.model,
            api_key=key,
            budget=self.budget,
            settings=self.settings,
        )
        self.opened.append(session)
        return session


async def _serve(
    base_url: str,
    model: str | None,
    options: dict[str, Any],
    address: tuple[str, int, Path | None],
    sessions: _Sessions,
    as_json: bool,
) -> None:
    from gem_eval.clients import open_client
    from gem_gateway.gateway import Gateway
    from gem_gateway.keyed_sessions import KeyedSessions
    from gem_gateway.sessions import checked_key
    from gem_rollout.model_agents import model_scheme, reached_model

    key = checked_key(os.environ.get(_KEY_VARIABLE) or f"gem-{secrets.token_urlsafe(24)}")
    if model_scheme(base_url) in ("http", "https"):  # a wrong address or model is found now, not by a program
        model, served = await reached_model(base_url, model, **options)
        if served not in (None, model):
            note = f"Warning: the server lists no model {model!r}, but {served!r}; calls ask for the first all the same"
            click.secho(printable(note), fg="yellow", err=True)
    client = open_client(base_url, model, **options)
    try:
        host, port, socket = address
        async with Gateway(host, port, socket_path=socket) as gateway:
            KeyedSessions(gateway, key, partial(sessions.open, gateway, client))
            _announce(gateway, key, client.model, as_json)
            await asyncio.Event().wait()
    finally:
        await client.close()
        _report(sessions.opened, as_json)


def _announce(gateway: Gateway, key: str, model: str, as_json: bool) -> None:
    if as_json:
        urls = {
            "openai_base_url": f"{gateway.origin}/v1",
            "anthropic_base_url": gateway.origin,
            "gemini_base_url": gateway.origin,
        }
        socket = None if gateway.socket_path is None else str(gateway.socket_path)
        click.echo(json.dumps({**urls, "socket": socket, "api_key": key, "model": model}))
        return
    if gateway.socket_path is not None:
        click.echo(f"Listening on {gateway.socket_path}; below, what base URLs look like to a program behind it.")
    click.echo(f"OPENAI_BASE_URL={gateway.origin}/v1")
    click.echo(f"ANTHROPIC_BASE_URL={gateway.origin}")
    click.echo(f"GOOGLE_GEMINI_BASE_URL={gateway.origin}")
    click.echo(f"key: {key}   (KEY.NAME for a session of its own)")
    click.echo(f"model: {model}; Ctrl-C ends it")


def _report(sessions: list[GatewaySession], as_json: bool) -> None:
    if not sessions:
        return
    if as_json:
        rows = [{"session": one.name, "exceeded": one.exceeded, **one.calls.to_dict()} for one in sessions]
        click.echo(json.dumps({"sessions": rows}))
        return
    table = Table(("session", "calls", "answered", "prompt tokens", "sampled tokens", "errors", "budget"))
    for one in sessions:
        counts = one.calls
        errors = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.errors.items()))
        numbers = (counts.calls, counts.answered, counts.prompt_tokens, counts.completion_tokens)
        table.add_row(one.name, *map(str, numbers), errors, one.exceeded or "")
    table.show()
