"""A discussion forum as an environment: :class:`ForumEnv`."""

from __future__ import annotations

import random

from gem.arguments import integer
from gem.core import Info
from gem.policies import Policy
from gem.text_env import MAX_TURNS
from gem_envs_web.forum.maker import ForumTask
from gem_envs_web.forum.site import ForumSite
from gem_envs_web.forum.tasks import forum_task
from gem_envs_web.sites.actions import PageActionForm
from gem_envs_web.sites.site_env import SiteEnv

__all__ = ["ForumEnv", "ForumPolicy"]


class ForumEnv(SiteEnv):
    """Find something on a forum, or change it; 1.0 for the right answer and exactly the wanted end state.

    Args:
        level: 1 for one place that the task names, 2 for several pages and profiles, 3 for a moderator's rules among
            lookalikes.
        boards: boards of the forum, 2 to 8.
        split: ``"train"`` or ``"test"``; no forum is in both.
        max_turns: turns that the instructions announce.
    """

    form = PageActionForm("click", "type", "select", "search", "answer")
    site: ForumSite

    def __init__(self, level: int = 2, boards: int = 4, split: str = "train", max_turns: int = 40) -> None:
        super().__init__(split, integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))
        self.level = integer("level", level, minimum=1, maximum=3)
        self.boards = integer("boards", boards, minimum=2, maximum=8)

    @property
    def task(self) -> ForumTask:
        """The task of the episode; a reference to compare with, which no agent sees."""
        return self._task

    def _site_of(self, number: int) -> ForumSite:
        rng = random.Random(f"forum {self.split} {number}")
        self._task = task = forum_task(rng, self.level, self.split, self.boards)
        return ForumSite(task.forum, self.level == 3, task.wanted, task.answer)

    def brief(self) -> str:
        return (
            f"You use a discussion forum, logged in as {self._task.forum.me.name}. Change nothing but what the task "
            "demands. A thread has a number before its title: T17 is enough to click it.\n\n"
            f"Task: {self._task.demand}"
        )

    def _words(self) -> list[str]:
        return self._task.demand.replace("[", " ").replace("]", " ").split()


class ForumPolicy(Policy[str, str]):
    """Takes the steps of the task, which it reads from the environment.

    Args:
        env: the environment that it plays.
        hasty: whether it takes those of a visitor who turns no pages inside a thread or a board.
    """

    def __init__(self, env: ForumEnv, hasty: bool = False) -> None:
        self._env = env
        self._hasty = hasty

    def reset(self, observation: str, info: Info) -> None:
        task = self._env.task
        self._steps = list(task.hasty if self._hasty else task.steps)[::-1]

    def act(self, observation: str, info: Info) -> str:
        return self._steps.pop() if self._steps else "answer[done]"
