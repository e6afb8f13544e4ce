"""A set is made from a source archive in containers, and played."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_package import FILES, write_archive

from gem_envs_swe import SweEnv
from gem_envs_swe.errors import SweError
from gem_envs_swe.making.set_maker import MakingOptions, make_set
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy
from gem_envs_swe.task_set import read_rows, read_set
from gem_envs_swe.verdicts.verdict import SweVerdict
from gem_terminal.engines import Engine

OTHER_ENDS = {".gitattributes": "* text=auto eol=lf\n", "make.bat": "@echo off\r\n"}
"""Files for which git warns of the ends of lines."""
EARLY = "import shelfmark\n\nshelfmark.EARLY = True\n\n\ndef test_early():\n    assert shelfmark.EARLY\n"
LATE = "import shelfmark\n\n\ndef test_late():\n    assert shelfmark.EARLY\n"
CHANGES_PYTEST = "import unittest\n\n\ndef test_changes():\n    unittest.TestCase.assertIs = None\n"


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
def test_a_set_is_made_and_played(engine: Engine, tmp_path: Path) -> None:
    """Each task has its lists and patches; the solution earns 1.0, and no action earns nothing."""
    options = MakingOptions(tasks=6)
    files = {**FILES, **OTHER_ENDS, "tests/test_early.py": EARLY, "tests/test_late.py": LATE}
    files["tests/test_changes.py"] = CHANGES_PYTEST
    made = make_set(str(write_archive(tmp_path, files)), tmp_path / "set", options, engine)
    assert read_set(tmp_path / "set") == made
    assert made.tasks == sum(made.kinds.values()) == 6
    assert len(made.kinds) >= 5
    assert made.left_out == {
        "tests/test_changes.py::test_changes": "does not pass in a verdict",
        "tests/test_late.py::test_late": "depends on other tests",
    }
    with SweEnv(tmp_path / "set", engine=engine) as env:
        for row in read_rows(tmp_path / "set"):
            rewards = []
            for policy in (SweReferencePolicy(env), SweNullPolicy(env)):
                observation, info = env.reset(options={"task": row.instance_id})
                policy.reset(observation, info)
                done = False
                while not done:
                    observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
                    done = terminated or truncated
                rewards.append(reward)
            assert rewards == [1.0, 0.0], (row.instance_id, info)


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
def test_a_task_exists_only_once_its_verdict_pays(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the verdict of an episode would not pay the solution, or would pay for nothing, there is no task."""
    options = MakingOptions(tasks=1, kinds=("api-change",))
    for pays, why in ((False, "does not pay its solution"), (True, "pays for nothing")):
        monkeypatch.setattr(SweVerdict, "solved", pays)
        with pytest.raises(SweError, match=why):
            make_set(str(write_archive(tmp_path)), tmp_path / "set", options, engine)
