from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kill_publishers.py")

pytestmark = [
    pytest.mark.slow(reason="every kill is followed by a reading of the whole hub"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="it takes fork and SIGKILL"),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("share", [pytest.param(1, marks=pytest.mark.nightly), 8])
@pytest.mark.parametrize("mode", ["random", "steps"])
def test_a_kill_at_any_moment_corrupts_nothing(tmp_path: Path, mode: str, share: int) -> None:
    """After 100 kills no reader ever stumbled, the next change has completed what was begun, and nothing is lost."""
    command = [sys.executable, SCRIPT, mode, tmp_path, str(share)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert process.stderr == ""
    assert result["killed"] >= 100 // share
    assert result["problems"] == []
    assert result["differing"] == []
    assert result["still"] == []
    assert result["listed"] == result["records"]
    assert result["serials"] == list(range(1, len(result["serials"]) + 1))
