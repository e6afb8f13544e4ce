"""Answers of servers come without the present moment, wherever it stands in them."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from gem.tools import ToolResult
from gem_envs_desk.synthesis.unstable_fields import settled

FIXED = "2025-01-01T00:00:00"


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ"])
def test_a_moment_in_an_unknown_field_is_fixed(form: str) -> None:
    """A field that no reading tool has shown, a report in a field and a plain text get one moment for the present."""
    now = datetime.now(timezone.utc).strftime(form)
    old = "2019-03-04T05:06:07"

    def answer(moment: str) -> dict[str, Any]:
        return {"history": [{"id": 1, "changed_at": moment, "due": old}], "report": f"closed {moment}, due {old}."}

    found = settled(ToolResult(json.dumps({**answer(now), "seal": "x"}), data=answer(now)), ("seal",))
    assert json.loads(found.text) == answer(FIXED)
    assert found.data == answer(FIXED)
    assert settled(ToolResult(f"closed {now}, due {old}."), ()).text == f"closed {FIXED}, due {old}."
