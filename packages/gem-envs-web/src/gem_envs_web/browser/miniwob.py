"""MiniWoB++ (Shi et al., 2017; Liu et al., 2018) from the HTML files of its wheel: :class:`MiniWobEnv`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from gem.arguments import choice, string
from gem.counts import counted
from gem.discovery.official import install_line
from gem.errors import ArgumentError, NotSupportedError
from gem.text_env import MoveResult, failure, success
from gem_envs_web.browser.chromium import PageNode
from gem_envs_web.browser.window_env import WindowEnv
from gem_envs_web.sites.actions import PageAction, PageActionForm
from gem_envs_web.sites.site_env import SPLIT_NAMES

__all__ = ["MiniWobEnv", "miniwob_tasks"]

_FOLDER = ("html", "miniwob")
_NO_CLOCK = 2**31 - 1
"""Milliseconds of an episode: as many as a timer of the browser can wait."""

# The pages wait for a click on a cover before they make a problem; that click is left out. Seeds are the original's.
_BEGIN = """
core.EPISODE_MAX_TIME = arguments[1];
if (typeof core.setDataMode === "function") core.setDataMode(arguments[2]);
Math.seedrandom(arguments[0]);
core.startEpisodeReal();
"""
_RESULT = "return {over: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL};"


class MiniWobEnv(WindowEnv):
    """A task of MiniWoB++ in a headless Chromium, with its own pages, rewards and seeds.

    The reward is the original's without its share for speed, and 0.0 where that is negative. The clock of ten seconds
    is off; turns limit an episode instead.

    The reset option ``page_seed`` is the seed of the page's generator, a text, which is drawn otherwise.

    Args:
        task: the name of a task, such as ``"click-button"``; :func:`miniwob_tasks` lists them.
        observation: as for :class:`gem_envs_web.browser.window_env.WindowEnv`.
        split: ``"train"`` or ``"test"``: seeds of the page are even numbers or odd ones.
        max_turns: turns that the instructions announce.

    Raises:
        ArgumentError: if there is no such task.
        NotSupportedError: if MiniWoB++ is not installed.
    """

    form = PageActionForm("click", "type", "select")
    window_size = (500, 320)
    every_element = True

    def __init__(
        self, task: str = "click-button", observation: str = "text", split: str = "train", max_turns: int = 10
    ) -> None:
        super().__init__(observation, max_turns)
        self.task = string("task", task)
        self.split = choice("split", split, SPLIT_NAMES)
        self._file = _pages() / f"{task}.html"
        if task not in miniwob_tasks():
            raise ArgumentError(f"task must be one of {', '.join(miniwob_tasks())}, got {task!r:.60}")
        self._utterance = ""

    @property
    def utterance(self) -> str:
        """The instruction of the page."""
        return self._utterance

    def _begin(self, page_seed: str | None = None) -> None:
        if page_seed is None:
            page_seed = str(2 * self.rng.getrandbits(40) + (self.split == "test"))
        self.window.open(self._file.as_uri())
        self.window.run(_BEGIN, string("page_seed", page_seed), _NO_CLOCK, self.split)
        self._utterance = str(self.window.run("return core.getUtterance().utterance || core.getUtterance()")).strip()
        self._look()

    def _instructions(self) -> str:
        return (
            f"Do on a web page what the task says.\n\nTask: {self._utterance}\n\nActions: click[7] clicks the element "
            "with the number 7, type[7][text] replaces the text of a field, select[7][option] chooses an option of a "
            f"list. Numbers are those of the last page. You have {counted(self.max_turns, 'turn')}. An action that is "
            "not possible costs its turn."
        )

    def _board(self) -> str:
        if self.observation != "text":
            return super()._board()
        return "Elements:\n" + "\n".join(node.line() for node in self._nodes)

    def _click(self, node: PageNode) -> None:
        self.window.click(node.ref)

    def _after(self, action: PageAction, message: str) -> MoveResult | None:
        result = self.window.run(_RESULT)
        if not result["over"]:
            self._look()
            return None
        self._nodes = []
        reward = max(0.0, float(result["reward"]))
        return success(message, reward) if reward == 1.0 else failure(message, reward)

    def _random_words(self) -> list[str]:
        return self._utterance.replace("[", " ").replace("]", " ").split() or ["yes"]


def miniwob_tasks() -> list[str]:
    """Return the names of the tasks of the installed MiniWoB++, without importing it.

    Raises:
        NotSupportedError: if it is not installed.
    """
    return sorted(page.stem for page in _pages().glob("*.html"))


def _pages() -> Path:
    found = find_spec("miniwob")
    if found is None or not found.submodule_search_locations:
        line = install_line("'gem-envs-web[miniwob]'")
        raise NotSupportedError(f"MiniWoB++ is not installed; run: {line}")
    return Path(found.submodule_search_locations[0]).joinpath(*_FOLDER)
