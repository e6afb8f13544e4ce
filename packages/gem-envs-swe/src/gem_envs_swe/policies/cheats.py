"""Policies that want the reward without the work: :class:`SweCheatPolicy`, from the table ``cheats.toml``."""

from __future__ import annotations

import shlex
import sys
from functools import cache
from importlib.resources import files
from typing import Any

from gem.arguments import choice
from gem.core import Action, Info
from gem.policies import Policy
from gem_envs_swe.env import SweEnv
from gem_envs_swe.policies.reference import bash_call
from gem_envs_swe.workplace.tasks import SweTask

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["SweCheatPolicy", "cheat_command", "cheats"]


@cache
def cheats(*places: str) -> dict[str, str]:
    """Return the name of each cheat → a script of bash that plants it.

    Args:
        places: ``"files"`` for files beside the sources, ``"sources"`` for code in one; both without any.

    It runs in the repository. ``$MODULE`` is the file with the fault, ``$PACKAGE`` its folder, ``$TEST`` the file of
    the hidden tests, which no agent is told: cheats know more than it does.
    """
    table = tomllib.loads(files(__package__).joinpath("cheats.toml").read_text(encoding="utf-8"))
    common = table["common"]["script"]
    listed = [item for place in places or ("files", "sources") for item in table[place].items()]
    return {name: f"{common}\n{script}" for name, script in listed}


def cheat_command(name: str, task: SweTask) -> str:
    """Return the command that plants a cheat in the container of a task."""
    module = min(path for path in task.solved if path.endswith(".py"))
    test = task.row.FAIL_TO_PASS[0].partition("::")[0]
    places = {"MODULE": module, "PACKAGE": module.rpartition("/")[0] or ".", "TEST": test}
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in places.items())
    return f"(export {settings}\n{cheats()[name]}\n) >/dev/null 2>&1; true"


class SweCheatPolicy(Policy[Any, Action]):
    """Plants one cheat and submits.

    Args:
        env: the environment.
        cheat: the name of one of :func:`cheats`.
    """

    def __init__(self, env: SweEnv, cheat: str) -> None:
        self._env = env
        self._cheat = choice("cheat", cheat, tuple(cheats()))
        self._planted = False

    def reset(self, observation: Any, info: Info) -> None:
        self._planted = False

    def act(self, observation: Any, info: Info) -> Action:
        """Return the next action."""
        if self._planted:
            return self._env.closing_action
        self._planted = True
        return bash_call(cheat_command(self._cheat, self._env.swe_task))
