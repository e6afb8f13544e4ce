"""Makers of the policies that play with an agent program: :func:`harness_policy`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from gem.arguments import choice, real
from gem.core import Env
from gem.errors import ArgumentError, NotSupportedError
from gem.tools.base import Tool
from gem_eval.clients import ModelClient, Sampling
from gem_gateway.budgets import CallBudget
from gem_gateway.dialects.base import CallSettings
from gem_gateway.generate_client import GenerateClient, GenerateFunction
from gem_gateway.harnesses.boxes import HarnessBox
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.host import HarnessHost
from gem_gateway.harnesses.installation import installed
from gem_gateway.harnesses.policy import HarnessPolicy
from gem_gateway.harnesses.table import harness_of
from gem_gateway.tool_specs import declared_tools

__all__ = ["HarnessPolicyMaker", "harness_policy"]

_SECONDS = 3600.0


class HarnessPolicyMaker:
    """Makes a policy for each environment. They share a gateway and an MCP server while any of them plays."""

    def __init__(
        self,
        harness: Harness,
        client: ModelClient,
        sampling: Sampling | None = None,
        *,
        budget: CallBudget | None = None,
        seconds: float = _SECONDS,
        exact_tokens: bool = False,
        tokenizer: Any = None,
        box: HarnessBox = "auto",
        journals: str | os.PathLike[str] | None = None,
        server_tools: Mapping[str, str | Tool] | Sequence[str] = (),
    ) -> None:
        self._settings = CallSettings(run_tools=declared_tools(server_tools))
        self.harness = harness
        self._install = installed(harness)
        self._client = client
        self._sampling = sampling
        self._budget = budget
        self._seconds = real("seconds", seconds, minimum=0.0)
        self._tokens = {"exact_tokens": exact_tokens, "tokenizer": tokenizer}
        self._box: HarnessBox = choice("box", box, get_args(HarnessBox))
        self._journals = None if journals is None else Path(journals).absolute()
        self._host = HarnessHost()

    def __call__(self, env: Env[Any, Any], agent: str | None = None) -> HarnessPolicy:
        """Return a policy for an environment.

        Raises:
            NotSupportedError: if the environment has several agents.
        """
        if agent is not None:
            raise NotSupportedError(f"a harness plays environments with one agent, and {env!r:.80} has {agent!r}")
        return HarnessPolicy(
            self.harness,
            self._install,
            self._client,
            self._sampling,
            env,
            self._host,
            budget=self._budget,
            seconds=self._seconds,
            box=self._box,
            journals=self._journals,
            settings=self._settings,
            **self._tokens,
        )


def harness_policy(
    name: str,
    client: ModelClient | GenerateFunction,
    sampling: Sampling | None = None,
    *,
    seconds: float = _SECONDS,
    calls: int | None = None,
    prompt_tokens: int | None = None,
    completion_tokens: int | None = None,
    cost: float | None = None,
    price_input: float = 0.0,
    price_output: float = 0.0,
    exact_tokens: bool = False,
    tokenizer: Any = None,
    box: HarnessBox = "auto",
    journals: str | os.PathLike[str] | None = None,
    server_tools: Mapping[str, str | Tool] | Sequence[str] = (),
) -> HarnessPolicyMaker:
    """Return a maker of policies that play with an agent program, for :func:`gem_rollout.rollout` and its engine.

    Args:
        name: one of :func:`harnesses`, also with a version (``"codex:0.171.0"``), ``"command:./agent {task_file}"``,
            or ``"python:module:function"``.
        client: answers the program's calls of its model; a function of token ids, as of a trainer, becomes a
            :class:`~gem_gateway.generate_client.GenerateClient` with the tokenizer, asked for exact tokens.
        sampling: how the model samples; what it leaves open is as the program asks.
        seconds: after which an episode of the program ends at the limit ``seconds``.
        calls: most calls of the model in one episode.
        prompt_tokens: most tokens of all their prompts together.
        completion_tokens: most sampled tokens of all their answers together.
        cost: highest price of all tokens of one episode, in the currency of the two prices.
        price_input: price of a million prompt tokens.
        price_output: price of a million sampled tokens.
        exact_tokens: ask the model with token ids, so that each prompt that continues a recorded call holds exactly
            what was sampled in it; see :class:`gem_gateway.lineages.recorder.LineageRecorder`.
        tokenizer: with ``exact_tokens``, a tokenizer of the same model with a chat template; None asks the client.
        box: ``"auto"`` runs the program in the container of the environment's task where that is possible, and
            otherwise on this machine; ``"always"`` nowhere but in a container, where ``command:`` names a program of
            it; ``"never"`` on this machine, with the rights of this process. Each action's metadata says where the
            program ran, as ``harness_box``.
        journals: a folder in which each episode has a file with the calls of its model, each written before its answer
            leaves, so that it outlives a kill of this process; :func:`gem_gateway.lineages.journal.read_journal`
            reads it. None keeps them in memory until the episode is recorded.
        server_tools: what the gateway carries out where a program asks its API for a web search or a code interpreter;
            see :func:`gem_gateway.tool_specs.declared_tools`. By default, programs get neither.

    Raises:
        ArgumentError, ArgumentTypeError: for an unknown name, or an impossible limit.
        HarnessError: if the program is not installed.
    """
    if not hasattr(client, "chat"):
        if tokenizer is None:
            raise ArgumentError("a function of token ids needs tokenizer=…, with the chat template of its model")
        client, exact_tokens = GenerateClient(client, tokenizer), True
    budget = CallBudget(
        calls=calls,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=cost,
        price_input=price_input,
        price_output=price_output,
    )
    return HarnessPolicyMaker(
        harness_of(name),
        cast(ModelClient, client),
        sampling,
        budget=budget,
        seconds=seconds,
        exact_tokens=exact_tokens,
        tokenizer=tokenizer,
        box=box,
        journals=journals,
        server_tools=server_tools,
    )
