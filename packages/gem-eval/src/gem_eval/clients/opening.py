"""Opening a model client by its URL: :func:`open_client`."""

from __future__ import annotations

import re
from typing import Any, cast

from gem.arguments import string
from gem.errors import ArgumentTypeError
from gem_eval.clients.base import ModelClient

__all__ = ["open_client"]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d{1,5}(?:/|$))", re.IGNORECASE)
"""A scheme, but not the host of ``localhost:8000``."""


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
    from gem.plugins import lookup

    url = string("base_url", base_url).strip()
    scheme = _SCHEME.match(url)
    name = scheme[1].lower() if scheme else "http"
    factory = lookup("gem_model_clients", name, "model client")
    try:
        return cast(ModelClient, factory(url, model=model, **options))
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise ArgumentTypeError(
            f"a client for {name}: {error}".replace(factory.__name__, "").replace(".__init__()", "it")
        ) from error
