"""Results in a hub that is a folder of this machine, for ``gem hub results`` of the client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem_hub.cli.validated import validated
from gem_hub.events import Result, ResultDecision
from gem_hub.store import Store

__all__ = ["decide_on_result", "publish_result"]


def publish_result(
    folder: Path, name: str, version: str, sha256: str, by: str, envelope: dict[str, Any], packed: bytes | None
) -> str:
    """Add a signed result; return its state.

    Raises:
        HubRefusal: with the reason.
    """
    store = Store(folder)
    event = validated(Result, name=name, version=version, sha256=sha256, by=by, envelope=envelope)
    store.add_result(event, packed)
    return "admitted" if by in store.owners(name) else "unreviewed"


def decide_on_result(folder: Path, name: str, **values: str) -> None:
    """Admit or withdraw a result.

    Raises:
        HubRefusal: if there is no such result, or the account may not decide.
    """
    Store(folder).add_event(validated(ResultDecision, name=name, **values))
