"""The websites of this package in a real browser: :class:`BrowserEnv`."""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Any

import gem
from gem.arguments import string
from gem.counts import counted
from gem.errors import ArgumentError
from gem.text_env import MoveResult, failure, illegal, success
from gem_envs_web.browser.episodes import served_episode, task_in_words
from gem_envs_web.browser.window_env import WindowEnv
from gem_envs_web.forum.env import ForumEnv
from gem_envs_web.shop.shopping import ShoppingEnv
from gem_envs_web.sites.actions import PageAction, PageActionForm
from gem_envs_web.sites.loopback import EpisodeServer, ServedEpisode
from gem_envs_web.sites.site_env import SiteEnv
from gem_processes import SharedResource

__all__ = ["BrowserEnv"]


class BrowserEnv(WindowEnv):
    """A shop, a form or a forum as pages over HTTP, which the agent sees and acts on through a headless Chromium.

    The environments of a process share one server, in which each episode has a secret address of its own. Tasks and
    rewards are those of the text environment.

    Args:
        world: the id of a shop, a form or a forum, such as ``"web:Forum-v0-hard"``.
        observation: as for :class:`gem_envs_web.browser.window_env.WindowEnv`.
        max_turns: turns that the instructions announce; None for twice those of the world.
        world_kwargs: arguments of the world.

    Raises:
        ArgumentError: if the world is none of these.
    """

    form = PageActionForm("click", "type", "select", "answer")

    def __init__(
        self,
        world: str = "web:Form-v0",
        observation: str = "text",
        max_turns: int | None = None,
        world_kwargs: dict[str, Any] | None = None,
    ) -> None:
        made = gem.make(string("world", world), **(world_kwargs or {})).unwrapped
        if not isinstance(made, (SiteEnv, ShoppingEnv)):
            raise ArgumentError(f"world must be the id of a shop, a form or a forum, got {world!r:.80}")
        self.world: SiteEnv | ShoppingEnv = made
        super().__init__(observation, 2 * made.max_turns if max_turns is None else max_turns)
        self._episode: ServedEpisode | None = None
        self._server = _server_of(os.getpid()).handle()

    def close(self) -> None:
        self._forget()
        super().close()
        self._server.close()

    def _forget(self) -> None:
        if self._episode is not None:
            self._server.value.forget(self._episode)
            self._episode = None

    def _begin(self) -> None:
        self.world.reset(seed=self.rng.getrandbits(62))
        self._forget()
        self._episode = served_episode(self.world)
        address = self._server.value.serve(self._episode)
        self._base = address.removeprefix(self._server.value.address).removesuffix(self._episode.start)
        self.window.open(address)
        self._look()

    def _instructions(self) -> str:
        answer = ", answer[text] ends the task" if isinstance(self.world, ForumEnv) else ""
        return (
            f"{task_in_words(self.world)}\n\nYou see the website through a browser. Actions: click[7] clicks the "
            "element with the number 7, click[back] goes back a page, type[7][text] replaces the text of a field, "
            f"select[7][option] chooses an option of a list{answer}. Numbers are those of the last page. "
            f"You have {counted(self.max_turns, 'turn')}. An action that is not possible costs its turn."
        )

    def _board(self) -> str:
        # The address of the episode is secret, and another in each run.
        return super()._board().replace(self._base, "/")

    def _after(self, action: PageAction, message: str) -> MoveResult | None:
        assert self._episode is not None
        if action.verb == "answer":
            try:
                reward: float | None = self._episode.answered(action.target)
            except ArgumentError:
                return illegal("This task does not end with an answer.")
        else:
            self._look()
            reward = self._episode.result()
        if reward is None:
            return None
        return success(message, reward) if reward == 1.0 else failure(message, reward)

    def _random_words(self) -> list[str]:
        return task_in_words(self.world).replace("[", " ").replace("]", " ").split()


@cache
def _server_of(process: int) -> SharedResource[EpisodeServer]:
    """Return the server of a process: a fork has no thread that would serve its parent's."""
    return SharedResource(EpisodeServer, EpisodeServer.close, _close_later)


def _close_later(server: EpisodeServer) -> None:
    """End a server in a thread of its own: the garbage collector may run in the one that serves."""
    threading.Thread(target=server.close, name="gem-episode-server-end", daemon=True).start()
