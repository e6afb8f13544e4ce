"""``skyrl:NAME``: by night episode by episode equal to those of the published skyrl-gym 0.4.0 by its own code."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem_bridges.errors import BridgeError

RELEASE = "skyrl-gym==0.4.0"
CLASSES = {"gsm8k": None, "gsm8k_multi_turn": None, "digits": "digit_env:DigitEnv"}
TURNS = 4
ANSWERS = ("I do not know.", "Let me see: #### 7", "#### 8", "8")
OWN = """
import random
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

class DigitEnv(BaseTextEnv):
    def __init__(self, env_config, extras):
        super().__init__()
        self.max_turns, self.bonus = extras["max_turns"], env_config.bonus
        self.secret = random.randrange(10)

    def step(self, action):
        self.turns += 1
        if action == "crash":
            raise RuntimeError("the digits are gone")
        if action == "nan":
            return BaseTextEnvStepOutput(observations=[], reward=float("nan"), done=False, metadata={})
        right = action == str(self.secret)
        said = "Right." if right else f"Wrong, {random.random()}."
        return BaseTextEnvStepOutput(
            observations=[{"role": "user", "content": said}], reward=self.bonus * right,
            done=right or self.turns >= self.max_turns, metadata={"turn": self.turns},
        )

    def get_metrics(self):
        return {"turns": self.turns}
"""
DIRECT = """
import json, random, sys
import numpy, skyrl_gym
from omegaconf import OmegaConf
wanted = json.loads(sys.argv[1])
if wanted["entry_point"]:
    skyrl_gym.register(id=wanted["name"], entry_point=wanted["entry_point"])
found = []
for row, seed, answers in wanted["episodes"]:
    random.seed(seed); numpy.random.seed(seed)
    extras = {**row, "max_turns": wanted["max_turns"]}
    prompt = extras.pop("prompt")
    env = skyrl_gym.make(wanted["name"], env_config=OmegaConf.create({"bonus": 0.5}), extras=extras)
    turns = [env.init(prompt)[0][-1]["content"]]
    for answer in answers:
        out = env.step(answer)
        said = out["observations"]
        turns.append([said[-1]["content"] if said else "", float(out["reward"]), out["done"]])
        if out["done"]:
            break
    found.append(turns)
print(json.dumps(found))
"""


def row(number: int, env_class: str | None) -> dict[str, Any]:
    """Return a row in the form of SkyRL's data sets; the answer is 8 in the even ones."""
    return {
        "prompt": [{"role": "user", "content": f"Question {number}?"}],
        **({} if env_class is None else {"env_class": env_class}),
        "reward_spec": {"method": "rule", "ground_truth": str(8 - number % 2)},
    }


def written(folder: Path, rows: list[dict[str, Any]]) -> str:
    """Return the path of a file of rows."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return str(path)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """The file of rows, and the library in the Python that was named."""
    with pytest.raises(ArgumentError, match=r"rows='train\.jsonl'"):
        gem.make("skyrl:gsm8k")
    with pytest.raises(ArgumentError, match="there is no file"):
        gem.make("skyrl:gsm8k", rows=str(tmp_path / "none.jsonl"))
    (tmp_path / "skyrl_gym.py").write_text("raise ModuleNotFoundError(\"No module named 'skyrl_gym'\")")
    with (
        gem.make("skyrl:gsm8k", rows=written(tmp_path, [row(0, None)]), folder=str(tmp_path)) as env,
        pytest.raises(BridgeError, match="install skyrl-gym there, or name the Python"),
    ):
        env.reset(seed=0)


@pytest.fixture(scope="module")
def python() -> Iterator[Path]:
    """A Python with the published release."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "-p", sys.executable, folder + "/venv"], check=True)
        found = Path(folder, "venv", "bin", "python")
        install = [sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(found), RELEASE, "pyarrow"]
        subprocess.run(install, check=True)
        yield found


def directly(python: Path, folder: Path, **wanted: Any) -> list[list[Any]]:
    """Return episodes of the library by its own code."""
    command = [str(python), "-c", DIRECT, json.dumps(wanted)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found: list[list[Any]] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CLASSES)
def test_episodes_are_those_of_the_library(python: Path, tmp_path: Path, name: str) -> None:
    """Observations, rewards and ends of scripted episodes, turn by turn."""
    (tmp_path / "digit_env.py").write_text(OWN)
    rows = [row(number, name) for number in range(3)]
    made: dict[str, Any] = {
        "entry_point": CLASSES[name],
        "folder": str(tmp_path),
        "config": {"bonus": 0.5},
        "max_turns": TURNS,
    }
    episodes, played, rewarded = [], [], 0.0
    with gem.make(f"skyrl:{name}", rows=written(tmp_path, rows), python=str(python), **made) as env:
        for seed in range(12):
            turns: list[Any] = [env.reset(seed=seed, options={"index": seed % 3})[0]]
            for answer in (*ANSWERS[seed % 4 :], *map(str, range(TURNS))):
                observation, reward, terminated, truncated, info = env.step(answer)
                turns.append([observation, reward, terminated])
                assert "error" not in info
                rewarded += reward
                if terminated:
                    break
                assert not truncated
            episodes.append((rows[seed % 3], env.get_state()["episode_seed"], env.get_state()["journal"]))
            played.append(turns)
    expected = directly(python, tmp_path, name=name, entry_point=CLASSES[name], max_turns=TURNS, episodes=episodes)
    assert played == expected
    assert rewarded > 0


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_faults_and_states(python: Path, tmp_path: Path) -> None:
    """A crash and a reward that is no number truncate with the reason; states and pickles continue an episode."""
    (tmp_path / "digit_env.py").write_text(OWN)
    rows = written(tmp_path, [row(0, "digits"), row(1, "other")])
    made: dict[str, Any] = {"rows": rows, "python": str(python), "folder": str(tmp_path), "config": {"bonus": 1}}
    with gem.make("skyrl:digits", entry_point="digit_env:DigitEnv", **made) as env:
        workers = set()
        for action, reason in (("crash", "the digits are gone"), ("nan", "the reward nan, which is no finite number")):
            env.reset(seed=1)
            *_, truncated, info = env.step(action)
            assert truncated
            assert reason in info["error"]
            workers.add(env.unwrapped._worker)
        assert len(workers) == 1, "the process lives on"
        env.reset(seed=5)
        env.step("x")
        state, copy = env.get_state(), pickle.loads(pickle.dumps(env.unwrapped))
        following = env.step("y")
        assert copy.step("y") == following
        env.set_state(state)
        assert env.step("y") == following
        copy.close()
        with pytest.raises(ArgumentError, match="index"):
            env.reset(seed=0, options={"index": 1})  # the row of another environment is left out
    with gem.make("skyrl:digit", **made) as env, pytest.raises(BridgeError, match="digit"):
        env.reset(seed=0)
    convert = "import pandas, sys; pandas.read_json(sys.argv[1], lines=True).to_parquet(sys.argv[2])"
    subprocess.run([str(python), "-c", convert, rows, str(tmp_path / "rows.parquet")], check=True)
    made["rows"] = str(tmp_path / "rows.parquet")
    with gem.make("skyrl:digits", entry_point="digit_env:DigitEnv", **made) as env:
        assert env.reset(seed=0)[0] == "Question 0?"
