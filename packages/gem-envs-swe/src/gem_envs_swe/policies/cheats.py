"""Policies that want the reward without the work: :class:`SweCheatPolicy`, from the table ``cheats.toml``."""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files
from typing import Any

from gem.arguments import choice
from gem.core import Action, Info
from gem.policies import Policy
from gem_envs_swe.env import SweEnv
from gem_envs_swe.policies.reference import bash_call

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["SweCheatPolicy", "cheats"]

_ENVIRONMENT = """\
export MODULE={module} PACKAGE={package} TEST={test}
"""


@cache
def cheats() -> dict[str, str]:
    """Return the name of each cheat → a script of bash that plants it.

    It runs in the repository. ``$MODULE`` is the file with the fault, ``$PACKAGE`` its folder, ``$TEST`` the file of
    the hidden tests, which no agent is told: cheats know more than it does.
    """
    table = tomllib.loads(files(__package__).joinpath("cheats.toml").read_text(encoding="utf-8"))
    common = table["common"]["script"]
    return {name: f"{common}\n{script}" for name, script in table["cheats"].items()}


class SweCheatPolicy(Policy[Any, Action]):
    """Plants one cheat and submits.

    Args:
        env: the environment.
        cheat: the name of one of :func:`cheats`.
    """

    def __init__(self, env: SweEnv, cheat: str) -> None:
        self._env = env
        self._script = cheats()[choice("cheat", cheat, tuple(cheats()))]
        self._planted = False

    def reset(self, observation: Any, info: Info) -> None:
        self._planted = False

    def act(self, observation: Any, info: Info) -> Action:
        """Return the next action."""
        if self._planted:
            return self._env.closing_action
        self._planted = True
        task = self._env.swe_task
        module = min(path for path in task.begun if path.endswith(".py"))
        test = task.row.FAIL_TO_PASS[0].partition("::")[0]
        settings = _ENVIRONMENT.format(module=module, package=module.rpartition("/")[0] or ".", test=test)
        return bash_call(f"({settings}{self._script}\n) >/dev/null 2>&1; true")
