"""A third party's package on its way through a hub: written, published, found, installed elsewhere and played.

Only commands that are installed from wheels are used, those of the author on one side and of a user on the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.slow(reason="only two machines that have nothing but wheels show the way of a package between them"),
    pytest.mark.xdist_group("packages"),
]

LAMPS = r'''
"""Lamps: a row of lamps; pressing one switches it and its neighbours; make all of them dark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gem.arguments import boolean, integer
from gem.core import Env, Info
from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError, StateError
from gem.policies import Policy
from gem.text import action_text, boxed_pattern


class LampsEnv(Env[str, str]):
    r"""Press lamps with ``\boxed{number}`` until all are dark.

    Args:
        count: how many lamps, 3 to 30.
        max_turns: announced number of presses; ``count`` are always enough.
    """

    _move = boxed_pattern(r"(\d{1,3})", re.ASCII)

    def __init__(self, count: int = 7, max_turns: int = 9) -> None:
        self.count = integer("count", count, minimum=3, maximum=30)
        self.max_turns = integer("max_turns", max_turns, minimum=self.count, maximum=1000)
        self._lit: list[bool] | None = None
        self._turn, self._over = 0, False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        if options:
            raise ArgumentError(f"there are no reset options, got {sorted(map(str, options))}")
        super().reset(seed=seed)
        self._lit, self._turn, self._over = [False] * self.count, 0, False
        while not any(self._lit):
            for lamp in range(self.count):
                if self.rng.random() < 0.5:
                    self._press(lamp)
        rules = f"Each press switches a lamp and its neighbours. Make all dark within {self.max_turns} presses."
        return f"{rules} Answer with \\boxed{{number}}.\n{self._row()}", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if self._lit is None:
            raise ResetNeededError("call reset() first")
        if self._over:
            raise EpisodeFinishedError("the episode has ended; call reset() to begin another")
        self._turn += 1
        last = self._turn >= self.max_turns
        info: Info = {"turn": self._turn, "action_status": "legal"}
        found = self._move.match(action_text(action) or "")
        if found is None:
            self._over, info["action_status"], info["success"] = True, "malformed", False
            return "No number in a box.", -0.1, True, last, info
        lamp = int(found[1]) - 1
        if 0 <= lamp < self.count:
            self._press(lamp)
        else:
            info["action_status"] = "illegal"
        dark = not any(self._lit)
        self._over = dark or last
        if self._over:
            info["success"] = dark
        return self._row(), float(dark), dark or last, last and not dark, info

    def sample_random_action(self) -> str:
        return f"\\boxed{{{self.action_rng.randint(1, self.count)}}}"

    def get_state(self) -> dict[str, Any]:
        lit = None if self._lit is None else [*self._lit]
        return {"lit": lit, "turn": self._turn, "over": self._over, **self.generator_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        try:
            lit = None if state["lit"] is None else [boolean("lit", lamp) for lamp in state["lit"]]
            if lit is not None and len(lit) != self.count:
                raise StateError(f"{len(lit)} lamps instead of {self.count}")
            turn, over = integer("turn", state["turn"], minimum=0), boolean("over", state["over"])
            self.set_generator_state(state)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise StateError(f"not a state of LampsEnv: {error!r}") from error
        self._lit, self._turn, self._over = lit, turn, over

    def _press(self, lamp: int) -> None:
        assert self._lit is not None
        for place in (lamp - 1, lamp, lamp + 1):
            if 0 <= place < self.count:
                self._lit[place] = not self._lit[place]

    def _row(self) -> str:
        assert self._lit is not None
        return "Lamps: " + "".join("*" if lamp else "." for lamp in self._lit)


class LampsPolicy(Policy[str, str]):
    """Whether the first lamp is pressed decides about all others: tries both."""

    def act(self, observation: str, info: Info) -> str:
        row = [mark == "*" for mark in observation.rpartition("Lamps: ")[2]]
        plans = [plan for first in (False, True) if (plan := self._plan(row, first)) is not None]
        return f"\\boxed{{{min(plans, key=len)[0] + 1}}}"

    @staticmethod
    def _plan(row: list[bool], first: bool) -> list[int] | None:
        lit, presses = [*row], []
        for lamp in range(len(row)):
            if first if lamp == 0 else lit[lamp - 1]:
                presses.append(lamp)
                for place in (lamp - 1, lamp, lamp + 1):
                    if 0 <= place < len(lit):
                        lit[place] = not lit[place]
        return None if any(lit) else presses
'''

MANIFEST = """schema = 1

[[environment]]
id = "lamps:Lamps-v0"
entry_point = "lamp_envs.lamps:LampsEnv"
description = "Make a row of lamps dark."
tags = ["logic", "puzzle"]
reward_range = [-0.1, 1.0]
reference_policy = "lamp_envs.lamps:LampsPolicy"

[environment.variants]
easy = { count = 3, max_turns = 4 }
"""


class Machine:
    """A virtual environment, its commands, and caches and settings of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def gem(self, *arguments: str | Path, typed: str = "") -> str:
        return self.run("venv/bin/gem", *arguments, typed=typed)

    def run(self, *command: str | Path, typed: str = "") -> str:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("GEM_", "PYTHON"))}
        done = subprocess.run(
            [str(self.folder / part) if str(part).startswith("venv/") else str(part) for part in command],
            cwd=self.folder,
            env={**own, "HOME": str(self.folder), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""},
            input=typed,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.nightly
def test_a_third_partys_game_is_published_found_installed_and_played(
    tmp_path: Path,
    build_wheel: Callable[[Path, Path], Path],
    make_linked_environment: Callable[..., Path],
) -> None:
    """From gem new to gem play on another machine, with a game that is not ours, through a folder hub."""
    hub = tmp_path / "hub"
    make_linked_environment(tmp_path / "author" / "venv", "pip", "gem-testing", "gem-hub")
    author = Machine(tmp_path / "author")
    author.gem("new", "lamp-envs", "--namespace", "lamps", "--examples", "multi", "--yes")
    project = author.folder / "lamp-envs"
    package = project / "src" / "lamp_envs"
    (package / "treasure.py").unlink()
    (package / "lamps.py").write_text(LAMPS, encoding="utf-8")
    (package / "environments.toml").write_text(MANIFEST, encoding="utf-8")
    wheel = build_wheel(project, author.folder)
    author.run(sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "--quiet", "--no-deps", wheel)
    author.gem("check", "lamp-envs", "--strict", "--report", "conformance.json")
    author.gem("hub", "publish", wheel, "--hub", hub, "--report", "conformance.json")

    make_linked_environment(tmp_path / "user" / "venv", "pip", "gem-rollout")
    user = Machine(tmp_path / "user")
    user.gem("hub", "use", hub)
    (found,) = json.loads(user.gem("hub", "search", "lmps", "--json"))["packages"]
    assert found["name"] == "lamp-envs"
    user.gem("hub", "install", "lamp-envs")
    listed: list[dict[str, Any]] = json.loads(user.gem("list", "--json"))
    assert [item["id"] for item in listed] == ["lamps:Lamps-v0", "lamps:Lamps-v0-easy"]
    played = user.gem("play", "lamps:Lamps-v0-easy", "--seed", "3", typed="9\n9\n9\n9\nn\n")
    assert "Return 0 in 4 turns." in played
    report = json.loads(user.gem("rollout", "lamps:Lamps-v0", "--agent", "reference", "--episodes", "8", "--json"))
    assert report["environments"][0]["success_rate"] == 1.0
    assert user.gem("hub", "audit")
