"""A set is made from a source archive in containers, and played."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_package import write_archive

from gem_envs_swe import SweEnv
from gem_envs_swe.making.set_maker import MakingOptions, make_set
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy
from gem_envs_swe.task_set import read_rows, read_set
from gem_terminal.engines import Engine


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
def test_a_set_is_made_and_played(engine: Engine, tmp_path: Path) -> None:
    """Each task has its lists and patches; the solution earns 1.0, and no action earns nothing."""
    options = MakingOptions(tasks=6)
    made = make_set(str(write_archive(tmp_path)), tmp_path / "set", options, engine)
    assert read_set(tmp_path / "set") == made
    assert made.tasks == sum(made.kinds.values()) == 6
    assert len(made.kinds) >= 5
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
