"""What other distributions bring to ``gem hub``, loaded by name on first use: this package imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gem_hub_client.errors import HubError

__all__ = ["load_optional"]


def load_optional(target: str, distribution: str, purpose: str) -> Any:
    """Return an object of another distribution.

    Args:
        target: ``"module:attribute"``.
        distribution: the one that has it.
        purpose: what needs it, for the message.

    Raises:
        HubError: if the distribution is not installed.
    """
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name.partition(".")[0]):
            raise
        raise HubError(f"{purpose} needs {distribution}; run: pip install {distribution}") from error
