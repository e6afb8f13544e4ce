"""What tasks on a forum have in common: :class:`ForumTask`, and the base of those that make them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from gem_envs_web.forum.community import Community, ForumPost, ForumThread
from gem_envs_web.forum.site import POSTS_ON_A_PAGE, THREADS_ON_A_PAGE, ForumChanges
from gem_envs_web.forum.trail import ForumTrail

__all__ = ["ForumTask", "ForumTaskMaker", "NoSuchTaskError"]

ItemT = TypeVar("ItemT")
_DONE = "answer[done]"


class ForumTask(NamedTuple):
    """A task."""

    family: str
    demand: str
    """The task in words."""
    forum: Community
    wanted: ForumChanges
    answer: str | None
    """The right answer; None if the end state alone counts."""
    steps: tuple[str, ...]
    """Actions that fulfil the task, with the look-ups that it needs."""
    hasty: tuple[str, ...]
    """Actions of somebody who does the same and never turns a page or opens a profile."""


class NoSuchTaskError(Exception):
    """A forum has no material for a task of this family."""


class ForumTaskMaker:
    """Draws material for tasks from a forum, and makes tasks of it.

    Args:
        rng: the generator.
        forum: the forum.
    """

    def __init__(self, rng: random.Random, forum: Community) -> None:
        self.rng, self.forum = rng, forum

    def _asking(self, family: str, demand: str, act: Callable[[ForumTrail], str]) -> ForumTask:
        trails = ForumTrail(self.forum, hasty=False), ForumTrail(self.forum, hasty=True)
        answers = [act(trail) for trail in trails]
        steps, hasty = ((*t.steps, f"answer[{a}]") for t, a in zip(trails, answers, strict=True))
        demand = f"{demand} End with answer[…]; change nothing."
        return ForumTask(family, demand, self.forum, ForumChanges(), answers[0], steps, hasty)

    def _changing(self, family: str, demand: str, wanted: ForumChanges, act: Callable[[ForumTrail], None]) -> ForumTask:
        trails = ForumTrail(self.forum, hasty=False), ForumTrail(self.forum, hasty=True)
        for trail in trails:
            act(trail)
        steps, hasty = ((*trail.steps, _DONE) for trail in trails)
        return ForumTask(family, f"{demand} End with answer[done].", self.forum, wanted, None, steps, hasty)

    def _to(self, trail: ForumTrail, thread: ForumThread, steps: Iterable[str]) -> None:
        trail.thread(thread)
        trail.steps += steps

    def _seen(self, trail: ForumTrail, thread: ForumThread, answer: str) -> str:
        trail.thread(thread)
        return answer

    def _reply(self, text: str) -> list[str]:
        return [f"type[Your reply][{text}]", "click[Post reply]"]

    def _named(self, thread: ForumThread, capital: bool = False) -> str:
        """Return words that only this thread fits."""
        board = self.forum.boards[thread.board].name
        twins = sum((t.board, t.title) == (thread.board, thread.title) for t in self.forum.threads.values()) > 1
        starter = f" that {thread.author} started" if twins else ""
        return f'{"The" if capital else "the"} thread "{thread.title}"{starter} on the board {board}'

    def _is_alone(self, thread: ForumThread) -> bool:
        """Return whether no other thread of its board has both its title and its author."""
        key = thread.board, thread.title, thread.author
        return sum((t.board, t.title, t.author) == key for t in self.forum.threads.values()) == 1

    def _thread(self, fits: Callable[[ForumThread], bool], near: bool = False) -> ForumThread:
        """Draw a thread; ``near`` for one on the first page of its board."""
        found = [t for t in self.forum.threads.values() if fits(t) and self._is_alone(t)]
        if near:
            found = [t for t in found if self.forum.threads_of(t.board).index(t) < THREADS_ON_A_PAGE]
        return self._any(found)

    def _lone_post(self, thread: ForumThread) -> ForumPost:
        """Draw a post of a thread whose author has written no other there."""
        posts = self.forum.posts_of(thread)
        counts = Counter(post.author for post in posts)
        return self._any([post for post in posts if counts[post.author] == 1])

    def _busy_author(self) -> tuple[ForumThread, str]:
        """Draw a thread, and an author with posts on its first page and on a later one."""
        thread = self._thread(lambda t: len(t.posts) > POSTS_ON_A_PAGE)
        authors = [post.author for post in self.forum.posts_of(thread)]
        both = {*authors[:POSTS_ON_A_PAGE]} & {*authors[POSTS_ON_A_PAGE:]}
        return thread, self._any(sorted(both))

    def _any(self, items: list[ItemT]) -> ItemT:
        self._needs(bool(items))
        return self.rng.choice(items)

    def _needs(self, holds: bool) -> None:
        if not holds:
            raise NoSuchTaskError
