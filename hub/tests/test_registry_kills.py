from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kill_registry.py")

pytestmark = [
    pytest.mark.slow(reason="after each kill the registry begins anew, and a reader reads the whole hub"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="it takes fork and SIGKILL"),
    pytest.mark.xdist_group("postgresql"),
]


@pytest.mark.parametrize(
    ("database_url", "kills"),
    [
        ("sqlite", 5),
        pytest.param("sqlite", 100, marks=pytest.mark.nightly),
        pytest.param("postgresql", 100, marks=pytest.mark.nightly),
    ],
    indirect=["database_url"],
)
def test_a_kill_at_any_moment_loses_no_acknowledged_upload(tmp_path: Path, database_url: str, kills: int) -> None:
    """After the kills all that was acknowledged is there, no reader ever stumbled, and nothing is left over.

    Releases are in hub, queue and log; organisations, members, results, webhooks and private packages in their places.
    """
    command = [sys.executable, SCRIPT, tmp_path / "scratch", str(kills), database_url]
    (tmp_path / "scratch").mkdir()
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    for empty in ("problems", "refused", "lost", "lost by the clerk", "unqueued", "left", "differing", "still"):
        assert result[empty] == [], result[empty]
    assert result["acts"] >= kills // 2, "the clerk had too little to do"
    assert result["ends"] == [0, 0, 0]
    assert result["acknowledged"] == result["expected"] == result["records"] == 4 * kills
    assert result["queue"] == {"queued": result["records"]}
    assert "Traceback" not in process.stderr
