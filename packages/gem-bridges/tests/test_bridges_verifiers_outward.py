"""Environments of GEM as a task set of the published verifiers 0.4, with the fake model server in the model's place."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gem_bridges

SCRIPT = r"""
import asyncio, json, os, sys
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
import gem
from gem_eval.fake_model import FakeModel, FakeModelThread

GUESS = "game:GuessTheNumber-v0-easy"
os.environ["NO_KEY"] = "none"

def run(name, policy, taskset, **env):
    with FakeModelThread(FakeModel(policy)) as model:
        config = EvalConfig.model_validate({
            "env": {"taskset": {"id": "gem-bridges", **taskset}, **env},
            "model": "fake", "client": {"base_url": model.url, "api_key_var": "NO_KEY"},
            "output_dir": f"{sys.argv[1]}/{name}", "rich": None, "push": False,
        })
        episodes = asyncio.run(run_eval(config))
    found = []
    for one in episodes:
        (trace,) = one.traces
        texts = [message.content for message in trace.branches[-1].messages]
        found.append({
            "ok": one.ok, "name": one.task.data.name, "seed": one.task.data.seed, "reward": trace.reward,
            "metrics": trace.metrics, "texts": texts, "harness": trace.agent.config.harness.id,
            "errors": [str(error) for error in one.errors],
        })
    return sorted(found, key=lambda one: one["seed"])

def ours(seed, texts, **args):
    env = gem.make(GUESS, **args)
    shown, total, seen = env.reset(seed)[0], 0.0, []
    for said in texts[1::2]:
        seen += [shown, said]
        shown, reward, *_ = env.step(said)
        total += reward
    return total, seen == texts

result = {"wins": run("wins", GUESS, {"env_id": GUESS, "tasks": 4, "first_seed": 5})}
result["replayed"] = [ours(one["seed"], one["texts"]) for one in result["wins"]]
result["loses"] = run("loses", "constant:no idea", {"env_id": GUESS, "tasks": 2})
result["cut"] = run("cut", GUESS, {"env_id": GUESS, "tasks": 1, "first_seed": 6}, max_turns=1)
result["agent_cut"] = run("agent", GUESS, {"env_id": GUESS, "tasks": 1, "first_seed": 5}, agent={"max_turns": 2})
arguments = {"env_id": GUESS, "env_args": {"max_number": 3}, "tasks": 1}
result["arguments"] = run("arguments", GUESS, arguments)
result["refused"] = {}
for env_id in ("duel:Nim-v0", "game:NoSuch-v0", ""):
    try:
        run("refused", GUESS, {"env_id": env_id})
    except gem.errors.GemError as error:
        result["refused"][env_id] = str(error)
print(json.dumps(result))
"""


def test_without_verifiers_the_extra_is_named() -> None:
    """The classes are names of the package, which load when they are used."""
    assert gem_bridges.__version__
    for name in ("GemTaskset", "InProcessChat", "UserPlay"):
        assert name in dir(gem_bridges)
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'gem-bridges\[verifiers\]'"):
            getattr(gem_bridges, name)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_verifiers_plays_and_scores_an_environment(published: Callable[..., Path], tmp_path: Path) -> None:
    """Its own evaluation finds the task set by the package's name; rewards and texts are GEM's."""
    python = published("verifiers==0.4.0", ours=True)
    done = subprocess.run(
        [str(python), "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    listed = subprocess.run(
        [str(python.with_name("vf-eval")), "gem-bridges", "--help"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    wins, loses = result["wins"], result["loses"]
    assert [(one["ok"], one["seed"], one["reward"]) for one in wins] == [(True, seed, 1.0) for seed in range(5, 9)]
    assert all(one["metrics"]["success"] == one["metrics"]["episode_over"] == 1.0 for one in wins)
    assert {one["harness"] for one in wins} == {"gem-bridges"}
    assert len({one["name"] for one in wins}) == 4
    assert result["replayed"] == [[1.0, True]] * 4
    assert [(one["ok"], one["reward"], one["metrics"]["success"]) for one in loses] == [(True, -0.1, 0.0)] * 2
    for name in ("cut", "agent_cut"):
        (one,) = result[name]
        assert (one["ok"], one["reward"], one["metrics"]["episode_over"]) == (True, 0.0, 0.0)
    assert [len(result[name][0]["texts"]) for name in ("cut", "agent_cut")] == [2, 4]
    assert "from 1 to 3" in result["arguments"][0]["texts"][0]
    assert "several agents" in result["refused"]["duel:Nim-v0"]
    assert "game:NoSuch-v0" in result["refused"]["game:NoSuch-v0"]
    assert "--env.taskset.env-id" in result["refused"][""]
    assert "--env.taskset.env-id" in listed.stdout, listed.stderr
