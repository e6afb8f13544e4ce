"""The comparison of conformance kits that the benchmarks publish."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "conformance_kits.py"


@pytest.mark.nightly
def test_this_kit_catches_every_planted_defect_and_gymnasiums_a_few() -> None:
    """Ours names all of them; Gymnasium's sees what shows in the first step, and so the adapter hides nothing."""
    pytest.importorskip("gymnasium")
    done = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows if not row["gem"]] == []
    found = {row["name"].partition(":")[2] for row in rows if row["gymnasium"]}
    assert {"ResetsWithoutInfo", "FlagsAreInts", "SameInfo", "ClosesOnce", "TellsTime", "DropsSeed"} <= found
    assert len(found) < len(rows) / 4
