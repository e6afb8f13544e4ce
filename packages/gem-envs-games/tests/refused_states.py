"""States that no game can be in: the check that all games share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import gem
from gem.errors import StateError

__all__ = ["assert_refused"]


def assert_refused(env: gem.Env[Any, Any], damage: Mapping[str, Any]) -> None:
    """Fail unless the game's state with this damage raises StateError and leaves the game as it was."""
    before = env.get_state()
    damaged = json.loads(json.dumps(before))
    damaged["episode"].update(damage)
    with pytest.raises(StateError):
        env.set_state(damaged)
    assert env.get_state() == before
