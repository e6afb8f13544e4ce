"""Models and agent programs by name, from the packages that bring them: :func:`model_client`, :func:`harness_maker`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gem.arguments import string
from gem.errors import ArgumentTypeError, GemError
from gem.plugins import lookup

__all__ = ["harness_maker", "known_harness", "model_client", "model_scheme", "reached_model"]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d{1,5}(?:/|$))", re.IGNORECASE)
"""A scheme, but not the host of ``localhost:8000``."""

_CLIENTS = dict.fromkeys(("http", "https", "scripted", "transformers"), "gem-eval")
_HARNESSES = (
    *("claude-agent-sdk", "claude-code", "cline", "codex", "command", "gemini-cli", "google-adk", "langgraph"),
    *("mini-swe-agent", "openai-agents", "opencode", "pi", "pydantic-ai", "python", "qwen-code", "smolagents"),
)
"""Those of gem-gateway, for the line that installs it."""

_FIRST_RETRIES = 1
"""Repetitions of the request that finds out whether a server is there. A run is more patient than a user is now."""

_NOT_THERE = ("unreachable", "authentication")
"""Kinds of failures of a server that cannot answer later either."""


def model_scheme(base_url: str) -> str:
    """Return the scheme of a model's address; ``http`` for an address without one."""
    scheme = _SCHEME.match(base_url.strip())
    return scheme[1].lower() if scheme else "http"


def model_client(base_url: str, model: str | None = None, **options: Any) -> Any:
    """Return a client of the model at a URL, from the hook ``gem_model_clients``.

    Args:
        base_url: for example ``"http://localhost:8000/v1"`` or ``"transformers:/models/tiny"``.
        model: the model's name; None takes the only one that there is.
        options: passed on to the client.

    Raises:
        ArgumentError, ArgumentTypeError: if the URL or an option is impossible.
        MissingPluginError: if no installed package has a client for the scheme.
    """
    url = string("base_url", base_url).strip()
    name = model_scheme(url)
    factory = lookup("gem_model_clients", name, "model client", _CLIENTS)
    try:
        return factory(url, model=model, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise ArgumentTypeError(
            f"a client for {name}: {error}".replace(factory.__name__, "").replace(".__init__()", "it")
        ) from error


async def reached_model(base_url: str, model: str | None = None, **options: Any) -> tuple[str, str | None]:
    """Ask a server for its models once, so that a wrong address is found before the first episode.

    Args:
        base_url: of a server, not of a model in this process.
        model: None for the only one that it has. A server need not list the one that is named.
        options: of the client.

    Returns:
        The model, and the model as the server names it; the second is None if it does not say.

    Raises:
        ModelError: if the server cannot be reached, or refuses the key, or no model is named and it lists none.
        ArgumentError: if it has several models, and none is named.
    """
    client = model_client(base_url, model, **{**options, "retries": _FIRST_RETRIES})
    try:
        names = await client.models()
        await client.prepare()
    except GemError as error:
        if model is None or getattr(error, "failure_kind", None) in _NOT_THERE:
            raise
        return model, None
    finally:
        await client.close()
    found = str(client.model)
    return found, found if found in names else next(iter(names), None)


def known_harness(harness: str) -> tuple[Any, str]:
    """Return what makes a harness, from the hook ``gem_harnesses``, and what stands behind the colon of its name.

    Raises:
        MissingPluginError: if nothing installed has such a harness.
    """
    name, _, argument = harness.partition(":")
    return lookup("gem_harnesses", name, "harness", dict.fromkeys(_HARNESSES, "gem-gateway")), argument


def harness_maker(harness: str, client: Any, sampling: Any = None, options: Mapping[str, Any] | None = None) -> Any:
    """Return a maker of the policies of an agent program, from the hook ``gem_harnesses``.

    Args:
        harness: its name, and behind a colon what it takes.
        client: answers its calls of the model.
        sampling: a ``gem_eval.clients.Sampling``; None leaves it to the program.
        options: of the harness.

    Raises:
        MissingPluginError: if nothing installed has such a harness.
        ArgumentTypeError: for options that it does not have.
    """
    factory, argument = known_harness(harness)
    try:
        return factory(client, sampling, argument or None, **(options or {}))
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise ArgumentTypeError(f"options of the harness: {error}".replace(f"{factory!r}", harness)) from error
