"""The server of foreign environments' scripts outlives answers that JSON cannot hold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import gem_bridges
from gem.errors import LineWorkerError
from gem_processes import LineWorker


def test_an_answer_without_a_form_in_json_is_refused_and_the_next_is_given(tmp_path: Path) -> None:
    """NaN, an infinity, and an object are refused with a reason by a process that lives on."""
    script = tmp_path / "script.py"
    script.write_text("def answered(request):\n    return {'value': eval(request['value'])}\n")
    server = Path(gem_bridges.__file__).with_name("line_server.py")
    worker = LineWorker([sys.executable, "-u", str(server), str(2**33), str(script)], 60.0, 2**16)
    try:
        for value, reason in (("float('nan')", "ValueError"), ("float('-inf')", "ValueError"), ("{1}", "TypeError")):
            with pytest.raises(LineWorkerError, match=reason):
                worker.request({"value": value})
            assert worker.request({"value": "1 + 1"}) == {"value": 2}
    finally:
        worker.close()
