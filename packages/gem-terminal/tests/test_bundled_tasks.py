"""The tasks that come with the package, on every engine: solvable, worth nothing undone, and as the manifest says."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gem.manifest import read_specs
from gem_terminal import TerminalEnv, load_task
from gem_terminal.engines import Engine
from gem_terminal.oracle import OraclePolicy

PACKAGE = Path(str(files("gem_terminal")))
TASKS = sorted(folder.name for folder in (PACKAGE / "tasks").iterdir())


def play(env: TerminalEnv, policy: OraclePolicy | None) -> tuple[float, dict[str, Any]]:
    """Return what an episode earns, and its last info; without a policy it is finished at once."""
    observation, info = env.reset(seed=0)
    if policy is not None:
        policy.reset(observation, info)
    while True:
        action = "<finish/>" if policy is None else policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return reward, info


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_oracle_earns_all_and_doing_nothing_nothing(engine: Engine, name: str) -> None:
    """A task that its own solution does not solve, or that is solved from the start, teaches nothing."""
    with TerminalEnv(task=name, engine=engine) as env:
        reward, info = play(env, OraclePolicy(env))
        assert reward == 1.0, info
        reward, info = play(env, None)
        assert reward == 0.0, info
        assert "verifier_error" not in info


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_complete(name: str) -> None:
    """Instruction, limits, a time and a solution are there; no task has a network; the agent is an ordinary user."""
    task = load_task(PACKAGE / "tasks" / name)
    assert task.name == name
    assert task.solution is not None
    assert task.seconds is not None
    assert task.user == "agent"
    assert not task.limits.network
    assert task.metadata["difficulty"] in ("easy", "medium", "hard")


def test_the_manifest_offers_every_task() -> None:
    """Each folder is an environment of its own, beside the one for folders of users."""
    offered = [spec.kwargs.get("task") for spec in read_specs(PACKAGE / "environments.toml")]
    assert sorted(name for name in offered if name) == TASKS
    assert offered.count(None) == 1


CHEAT = (
    "python3 -c \"import os; open('/logs/verifier/reward.txt', 'w').write('1')\"; echo 1 > /logs/verifier/reward.txt"
)
CHEATS = {
    "a module in the tests' place": (
        "sales-report",
        "for name in unittest json sqlite3 sitecustomize; do echo 'import os; os.system(\"sh /home/agent/cheat\")' "
        f"> $name.py; done; cat > cheat <<'END'\n{CHEAT}\nEND",
    ),
    "a program that the tests run": (
        "broken-backup",
        f"cat > backup.sh <<'END'\n#!/bin/bash\n(while :; do {CHEAT}; done) >/dev/null 2>&1 &\nkill -9 $PPID\nEND\n"
        "chmod +x backup.sh",
    ),
    "a build that the tests run": (
        "build-errors",
        f"cat > cheat <<'END'\n{CHEAT}\nEND\n"
        "printf 'all clean:\\n\\tsh /home/agent/cheat; kill -9 $$PPID\\n' > stats/Makefile",
    ),
    "a repository that runs programs": (
        "git-rescue",
        f"cat > cheat <<'END'\n#!/bin/sh\n{CHEAT}\nEND\nchmod +x cheat; cd project; "
        "git config core.fsmonitor /home/agent/cheat; git config core.pager /home/agent/cheat",
    ),
}


@pytest.mark.parametrize("case", CHEATS)
def test_what_the_tests_execute_of_the_agent_cannot_reach_the_reward(engine: Engine, case: str) -> None:
    """It runs as the agent's user, and Python imports nothing from where the agent works."""
    name, command = CHEATS[case]
    with TerminalEnv(task=name, engine=engine) as env:
        env.reset(seed=0)
        _, _, _, _, info = env.step(f"<bash>{command}</bash>")
        assert info["exit_code"] == 0
        _, reward, _, _, info = env.step("<finish/>")
        assert reward < 0.5, info
        assert info["tests_total"] > 1, info
