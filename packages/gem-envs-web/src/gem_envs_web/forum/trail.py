"""The way of a visitor through a forum, as the actions that it takes: :class:`ForumTrail`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gem_envs_web.forum.community import Community, ForumPost, ForumThread
from gem_envs_web.forum.site import POSTS_ON_A_PAGE, THREADS_ON_A_PAGE

__all__ = ["ForumTrail"]


class ForumTrail:
    """The actions of a visitor, who begins on the page of the boards.

    Args:
        forum: the forum.
        hasty: whether the visitor never turns pages inside a thread or a board.
    """

    def __init__(self, forum: Community, hasty: bool) -> None:
        self.forum, self.hasty = forum, hasty
        self.steps: list[str] = []

    def board(self, number: int) -> None:
        if self.steps:
            self.click("Boards")
        self.click(self.forum.boards[number].name)

    def thread(self, thread: ForumThread) -> None:
        """Go to a thread, over its board."""
        self.board(thread.board)
        place = self.forum.threads_of(thread.board).index(thread)
        for _ in range(place // THREADS_ON_A_PAGE):
            self.click("Next page")
        self.click(f"T{thread.number}")

    def read(self, thread: ForumThread, visit: Callable[[ForumPost], Iterable[str]] | None = None) -> list[ForumPost]:
        """Go through the pages of a thread; return the posts that were seen."""
        posts = self.forum.posts_of(thread)
        if self.hasty:
            posts = posts[:POSTS_ON_A_PAGE]
        for place, post in enumerate(posts):
            if place and place % POSTS_ON_A_PAGE == 0:
                self.click("Next page")
            self.steps += visit(post) if visit is not None else ()
        return posts

    def profile(self, name: str) -> None:
        """Go to a member's profile, over the search."""
        self.steps += [f"search[{name}]", f"click[{name}]"]

    def click(self, label: str) -> None:
        self.steps.append(f"click[{label}]")
