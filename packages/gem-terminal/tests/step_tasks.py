"""Writes a task of three steps, and plays the solution of any task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem_terminal import TerminalEnv
from gem_terminal.oracle import OracleSolutionPolicy

TOML = """
[agent]
timeout_sec = 60.0
[environment]
network_mode = "no-network"
workdir = "/srv/task"
memory_mb = 256
[verifier]
env = { SHARED = "yes" }
[[steps]]
name = "begin"
min_reward = 0.5
[[steps]]
name = "go on"
agent = { user = "nobody", timeout_sec = 50.0 }
verifier = { env = { OWN = "too" } }
healthcheck = { command = "test -e /srv/task/ready", interval_sec = 0.01, retries = 2 }
[[steps]]
name = "end"
"""
SHARED_TEST = """#!/bin/bash
[ "$SHARED" = yes ] && bash /tests/check.sh && echo "{\\"reward\\": 1.0, \\"words\\": $(wc -w < /srv/task/notes)}" > \\
/logs/verifier/reward.json || echo 0 > /logs/verifier/reward.txt
"""
FILES = {
    "task.toml": TOML,
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /srv/task\nRUN chmod 777 /srv/task\n",
    "tests/test.sh": SHARED_TEST,
    "tests/check.sh": "exit 1\n",
    "solution/solve.sh": "echo end >> /srv/task/notes; ! ls /tests /logs/verifier\n",
    "steps/begin/instruction.md": "<!-- canary -->\nWrite begin into notes.\n",
    "steps/begin/tests/check.sh": "grep -q begin /srv/task/notes\n",
    "steps/begin/solution/solve.sh": "echo begin > notes; chmod 666 notes; (setsid sleep 300 &); touch /logs/agent/x\n",
    "steps/begin/workdir/given file": "given\n",
    "steps/go on/instruction.md": "Go on in notes.\n",
    "steps/go on/tests/check.sh": '[ "$OWN" = too ] && [ "$(tail -1 notes)" = "nobody given" ]\n',
    "steps/go on/solution/solve.sh": 'echo "$(id -un) $(cat "given file")" >> notes\n',
    "steps/go on/workdir/setup.sh": "id -un > /srv/task/ready\n",
    "steps/end/instruction.md": "End.\n",
    "steps/end/tests/test.sh": '#!/bin/bash\n[ "$(wc -l < notes)" = 3 ]\necho $((1 - $?)) > /logs/verifier/reward.txt',
}


def write_task(folder: Path, **changed: str) -> Path:
    for name, content in {**FILES, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    for script in folder.rglob("*.sh"):
        script.chmod(0o755)
    return folder


def solve(env: TerminalEnv, seen: list[tuple[str, dict[str, Any]]] | None = None) -> tuple[float, dict[str, Any]]:
    """Play the solution; return the reward and the last info."""
    observation, info = env.reset(seed=0)
    policy = OracleSolutionPolicy(env)
    policy.reset(observation, info)
    for _ in range(20):
        if seen is not None:
            seen.append((observation, info))
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return reward, info
        assert reward == 0.0
    raise AssertionError("the episode does not end")
