"""Opening a model client by its URL: :func:`open_client`."""

from __future__ import annotations

from typing import Any, cast

from gem_eval.clients.base import ModelClient
from gem_rollout.model_agents import model_client

__all__ = ["open_client"]


def open_client(base_url: str, model: str | None = None, **options: Any) -> ModelClient:
    """Return a client of the model at a URL.

    The URL's scheme selects the client: ``http`` (the default) and ``https`` an
    :class:`~gem_eval.clients.EndpointClient`, ``transformers`` a model in this process, ``scripted`` a function.
    Packages add others through the hook ``gem_model_clients``. Nothing is sent before the first request.

    Args:
        base_url: for example ``"http://localhost:8000/v1"`` or ``"transformers:/models/tiny"``.
        model: the model's name; None takes the only one that there is.
        options: passed on to the client.

    Raises:
        ArgumentError, ArgumentTypeError: if the URL or an option is impossible.
        MissingPluginError: if no installed package has a client for the scheme.
    """
    return cast(ModelClient, model_client(base_url, model, **options))
