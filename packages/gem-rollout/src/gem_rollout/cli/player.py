"""What plays in ``gem rollout``: a policy, or an agent program with its model: :func:`open_player`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from gem_rollout.model_agents import harness_maker, known_harness, model_client, model_scheme, reached_model
from gem_rollout.seating import make_agent_policy

__all__ = ["RolloutPlayer", "open_player"]


@dataclass(frozen=True)
class RolloutPlayer:
    """What plays: its name, a maker of policies, and what closes what these share."""

    name: str
    make_policy: Callable[..., Any]
    close: Callable[[], Any] | None = None


def open_player(
    agent: str | None, harness: str | None, server: tuple[str | None, str | None, str | None], options: dict[str, Any]
) -> RolloutPlayer:
    """Return what the options say.

    Args:
        agent: a policy; None for random actions, unless a harness plays.
        harness: an agent program.
        server: address, name of the model, and variable with the key, of the harness's model.
        options: of the harness.

    Raises:
        click.UsageError: if they contradict each other.
        ModelError: if the server of the model cannot be reached.
    """
    base_url, model, variable = server
    if harness is None:
        if options or any(server):
            raise click.UsageError(
                "--base-url, --model, --api-key-env, --harness-box, --server-tool, --max-calls and --exact-tokens "
                "are for --harness; gem eval plays with a model alone"
            )
        chosen = agent or "random"
        return RolloutPlayer(chosen, partial(make_agent_policy, chosen))
    if agent is not None:
        raise click.UsageError("--agent and --harness exclude each other; leave out one of them")
    known_harness(harness)  # before a server is asked that may not be there
    address = base_url or os.environ.get("OPENAI_BASE_URL")
    if not address:
        raise click.UsageError(f"--harness {harness} needs its model's server: --base-url http://localhost:8000/v1")
    key: dict[str, str] = {}
    if variable is not None:
        if not os.environ.get(variable):
            raise click.UsageError(f"the environment variable {variable} with the server's key is not set")
        key["api_key"] = os.environ[variable]
    if model_scheme(address) in ("http", "https"):
        model = asyncio.run(reached_model(address, model, **key))[0]
    client = model_client(address, model, **key)
    maker = harness_maker(harness, client, None, options)
    return RolloutPlayer(f"{harness.partition(' ')[0]} with {client.model}", maker, client.close)
