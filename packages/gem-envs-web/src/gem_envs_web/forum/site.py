"""The pages of a forum and what can be changed there: :class:`ForumSite`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import TypeVar
from urllib.parse import quote, unquote

from gem.counts import counted
from gem.errors import ArgumentError
from gem_envs_web.forum.community import PLACES, Community, ForumPost, ForumThread
from gem_envs_web.sites.page import PageButton, PageField, PageLink, PagePiece, PageRow, SitePage, page_row
from gem_envs_web.sites.site import Site

__all__ = ["POSTS_ON_A_PAGE", "THREADS_ON_A_PAGE", "ForumChanges", "ForumSite"]

THREADS_ON_A_PAGE, POSTS_ON_A_PAGE, RESULTS_ON_A_PAGE = 8, 5, 8
_LONGEST_TEXT = 1000
ItemT = TypeVar("ItemT")


@dataclass
class ForumChanges:
    """What differs from the forum as it was; equal if the same things were changed in any order."""

    votes: dict[int, int] = field(default_factory=dict)
    """1 or -1 by the numbers of posts."""
    removed: set[int] = field(default_factory=set)
    reported: set[int] = field(default_factory=set)
    followed: set[int] = field(default_factory=set)
    locked: dict[int, bool] = field(default_factory=dict)
    """Whether a thread is locked, where that was changed."""
    pinned: dict[int, bool] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    """Boards by the numbers of threads."""
    replies: list[tuple[int, str]] = field(default_factory=list)
    """Threads and texts."""
    threads: list[tuple[int, str, str]] = field(default_factory=list)
    """Boards, titles and texts."""
    profile: dict[str, str] = field(default_factory=dict)


class ForumSite(Site):
    """A forum with an account of the agent, who is a member or a moderator.

    Args:
        forum: its contents.
        moderator: whether the agent may remove posts, and lock, pin and move threads.
        wanted: the changes that the task wants.
        answer: the answer that the task wants, or None if any text may end it.
    """

    start = "boards"

    def __init__(self, forum: Community, moderator: bool, wanted: ForumChanges, answer: str | None) -> None:
        super().__init__()
        self.forum = forum
        self.moderator = moderator
        self.made = ForumChanges()
        self._wanted, self._answer = wanted, answer

    def result(self) -> float | None:
        return None

    def answered(self, answer: str) -> float:
        right = self._answer is None or _plain(answer) == _plain(self._answer)
        return float(right and self.made == self._wanted)

    def search_address(self, words: str) -> str:
        return f"search/1/{quote(words, safe='')}"

    def page(self, address: str) -> SitePage:
        title, rows = self._content(*address.split("/"))
        role = " (moderator)" if self.moderator else ""
        top = page_row(
            f"Logged in as {self.forum.me.name}{role}.", PageLink("Boards", "boards"), PageLink("My profile", "profile")
        )
        return SitePage(f"{self.forum.name}: {title}", [top, *rows], search=True)

    def _content(self, kind: str, *parts: str) -> tuple[str, list[PageRow]]:
        page = _PAGES.get((kind, len(parts)))
        if page is None:
            raise ArgumentError("the forum has no such page")
        return page(self, *parts)

    def _board_row(self, number: int) -> PageRow:
        board = self.forum.boards[number]
        threads = len(self._threads_of(number)) + sum(made[0] == number for made in self.made.threads)
        return page_row(PageLink(board.name, f"board/{number}/1"), f"{board.about} ({counted(threads, 'thread')})")

    def _threads_of(self, board: int) -> list[ForumThread]:
        if not self.made.moved:
            return self.forum.threads_of(board)
        found = [thread for number in self.forum.boards for thread in self.forum.threads_of(number)]
        return [thread for thread in found if self._board_of(thread) == board]

    def _board_of(self, thread: ForumThread) -> int:
        return self.made.moved.get(thread.number, thread.board)

    def _board(self, number: int, page: int) -> tuple[str, list[PageRow]]:
        board = self.forum.boards[number]
        rows = [page_row(PageLink("New thread", f"new/{number}"))]
        for place, (where, title, _) in enumerate(self.made.threads):
            if where == number and page == 1:
                rows.append(page_row(PageLink(f"M{place + 1}: {title}", f"mine/{place}"), "by you"))
        threads = self._threads_of(number)
        for thread in _slice(threads, page, THREADS_ON_A_PAGE):
            last = self.forum.posts[thread.posts[-1]]
            replies = len(thread.posts) - 1 + sum(made[0] == thread.number for made in self.made.replies)
            marks = [
                mark for mark, holds in (("pinned", self._pinned(thread)), ("locked", self._locked(thread))) if holds
            ]
            state = f" ({', '.join(marks)})" if marks else ""
            rows.append(
                page_row(
                    self._link(thread),
                    "by",
                    PageLink(thread.author, f"member/{thread.author}"),
                    f"{counted(replies, 'reply', 'replies')}, last post {last.day}{state}",
                )
            )
        return board.name, rows + _turning(f"board/{number}/", page, len(threads), THREADS_ON_A_PAGE)

    def _link(self, thread: ForumThread, page: int = 1) -> PageLink:
        return PageLink(f"T{thread.number}: {thread.title}", f"thread/{thread.number}/{page}")

    def _thread(self, number: int, page: int) -> tuple[str, list[PageRow]]:
        thread, made = self.forum.threads[number], self.made
        board = self.forum.boards[self._board_of(thread)]
        follows = number in made.followed
        rows = [
            page_row(
                "On the board",
                PageLink(board.name, f"board/{board.number}/1"),
                PageButton("Stop following this thread" if follows else "Follow this thread", "follow"),
            )
        ]
        if self.moderator:
            lock, pin = self._locked(thread), self._pinned(thread)
            others = tuple(one.name for one in self.forum.boards.values() if one != board)
            rows += [
                page_row(
                    PageButton("Unlock this thread" if lock else "Lock this thread", "lock"),
                    PageButton("Unpin this thread" if pin else "Pin this thread", "pin"),
                ),
                page_row(PageField("board", "Move to board", "select", "", others), PageButton("Move", "move")),
            ]
        for post in _slice(self.forum.posts_of(thread), page, POSTS_ON_A_PAGE):
            rows += self._post(post)
        last = max(1, ceil(len(thread.posts) / POSTS_ON_A_PAGE))
        if page == last:
            for place, (where, text) in enumerate(made.replies):
                if where == number:
                    rows.append(page_row("Your reply:", PageButton(f"Delete reply {place + 1}", f"delete-{place}")))
                    rows.append(page_row(text, kind="quote"))
        rows += _turning(f"thread/{number}/", page, len(thread.posts), POSTS_ON_A_PAGE)
        if self._locked(thread):
            rows.append(page_row("This thread is locked: no replies."))
        else:
            rows.append(page_row(PageField("reply", "Your reply", "area"), PageButton("Post reply", "reply")))
        return f"T{number}: {thread.title}", rows

    def _post(self, post: ForumPost) -> Iterator[PageRow]:
        number, made = post.number, self.made
        if number in made.removed:
            yield page_row(f"#{number} was removed by you.", PageButton(f"Restore #{number}", f"remove-{number}"))
            return
        vote = made.votes.get(number, 0)
        yield page_row(
            f"#{number} by",
            PageLink(post.author, f"member/{post.author}"),
            f"on {post.day}, {counted(post.votes + vote, 'vote')}",
        )
        yield page_row(post.text, kind="quote")
        buttons: list[PagePiece]
        if vote:
            buttons = [
                f"You voted {'up' if vote > 0 else 'down'}.",
                PageButton(f"Take back #{number}", f"unvote-{number}"),
            ]
        else:
            buttons = [
                PageButton(f"Vote up #{number}", f"up-{number}"),
                PageButton(f"Vote down #{number}", f"down-{number}"),
            ]
        if self.moderator:
            buttons.append(PageButton(f"Remove #{number}", f"remove-{number}"))
        else:
            label = "Withdraw report" if number in made.reported else "Report"
            buttons.append(PageButton(f"{label} #{number}", f"report-{number}"))
        yield page_row(*buttons)

    def _member(self, name: str) -> list[PageRow]:
        member = self.forum.members[name]
        rows = [
            page_row(f"Member since: {member.joined}"),
            page_row(f"Place: {member.place}"),
            page_row(f"About: {member.about}"),
        ]
        written = [post for post in self.forum.posts.values() if post.author == name][-5:]
        rows.append(page_row("Latest posts", kind="heading"))
        return rows + [self._mention(post, "in") for post in reversed(written)]

    def _mention(self, post: ForumPost, word: str) -> PageRow:
        thread = self.forum.threads[post.thread]
        page = thread.posts.index(post.number) // POSTS_ON_A_PAGE + 1
        link = PageLink(f"Post #{post.number}", f"thread/{thread.number}/{page}")
        return page_row(link, f'{word} T{thread.number} "{thread.title}", {post.day}')

    def _own_profile(self) -> list[PageRow]:
        me, changed = self.forum.me, self.made.profile
        return [
            page_row(f"Name: {me.name}"),
            page_row(f"Member since: {me.joined}"),
            page_row(PageField("place", "Place", "select", changed.get("place", me.place), PLACES)),
            page_row(PageField("about", "About me", "area", changed.get("about", me.about))),
            page_row(PageField("mail", "Mail me about replies", "checkbox", changed.get("mail", ""))),
            page_row(PageButton("Save profile", "profile")),
        ]

    def _new_thread(self, board: int) -> tuple[str, list[PageRow]]:
        return f"New thread on {self.forum.boards[board].name}", [
            page_row(PageField("title", "Title", "text", required=True)),
            page_row(PageField("text", "Text", "area", required=True)),
            page_row(PageButton("Create thread", "create")),
        ]

    def _own_thread(self, place: int) -> tuple[str, list[PageRow]]:
        board, title, text = self.made.threads[place]
        return f"M{place + 1}: {title}", [
            page_row("On the board", PageLink(self.forum.boards[board].name, f"board/{board}/1")),
            page_row(text, kind="quote"),
            page_row(PageButton("Delete this thread", f"drop-{place}")),
        ]

    def _results(self, page: int, words: str) -> tuple[str, list[PageRow]]:
        wanted = words.casefold().split()
        found = []
        for post in self.forum.posts.values():
            text = f"{post.text} {post.author} {self.forum.threads[post.thread].title}".casefold()
            if all(word in text for word in wanted):
                found.append(post)
        rows = []
        members = [name for name in self.forum.members if all(word in name.casefold() for word in wanted)]
        if members and page == 1:
            rows.append(page_row("Members:", *(PageLink(name, f"member/{name}") for name in members)))
        rows += [
            page_row(f'{counted(len(found), "post")} with "{words}" in the text, the name of the author or the title.')
        ]
        for post in _slice(found, page, RESULTS_ON_A_PAGE):
            rows.append(self._mention(post, f"by {post.author} in"))
            rows.append(page_row(post.text, kind="quote"))
        return "Search", rows + _turning("search/", page, len(found), RESULTS_ON_A_PAGE, f"/{quote(words, safe='')}")

    def _locked(self, thread: ForumThread) -> bool:
        return self.made.locked.get(thread.number, thread.locked)

    def _pinned(self, thread: ForumThread) -> bool:
        return self.made.pinned.get(thread.number, thread.pinned)

    def _carry_out(self, address: str, command: str, values: dict[str, str]) -> str:
        verb, _, number = command.partition("-")
        values = {name: " ".join(value.split())[:_LONGEST_TEXT] for name, value in values.items()}
        if verb in _POST_VERBS:
            _POST_VERBS[verb](self.made, int(number))
            return address
        if verb == "drop":
            return f"board/{self.made.threads.pop(int(number))[0]}/1"
        if verb == "profile":
            me = self.forum.me
            before = {"place": me.place, "about": me.about, "mail": ""}
            self.made.profile = {name: value for name, value in values.items() if value != before[name]}
            return address
        of = int(address.split("/")[1])
        if verb == "create":
            return self._create(of, values["title"], values["text"]) or address
        return _THREAD_VERBS[verb](self, self.forum.threads[of], values) or address

    def _create(self, board: int, title: str, text: str) -> str | None:
        if not (title and text):
            return None
        self.made.threads.append((board, title, text))
        return f"mine/{len(self.made.threads) - 1}"

    def _move(self, thread: ForumThread, values: dict[str, str]) -> None:
        if values["board"]:
            board = next(one.number for one in self.forum.boards.values() if one.name == values["board"])
            self.made.moved[thread.number] = board
            if board == thread.board:
                del self.made.moved[thread.number]

    def _reply(self, thread: ForumThread, values: dict[str, str]) -> str | None:
        if not values["reply"]:
            return None
        self.made.replies.append((thread.number, values["reply"]))
        return f"thread/{thread.number}/{max(1, ceil(len(thread.posts) / POSTS_ON_A_PAGE))}"


_PAGES: Mapping[tuple[str, int], Callable[..., tuple[str, list[PageRow]]]] = {
    ("boards", 0): lambda site: ("Boards", [site._board_row(number) for number in site.forum.boards]),
    ("profile", 0): lambda site: ("My profile", site._own_profile()),
    ("member", 1): lambda site, name: (name, site._member(name)),
    ("board", 2): lambda site, board, page: site._board(_number(board), _number(page)),
    ("thread", 2): lambda site, thread, page: site._thread(_number(thread), _number(page)),
    ("new", 1): lambda site, board: site._new_thread(_number(board)),
    ("mine", 1): lambda site, place: site._own_thread(_number(place)),
    ("search", 2): lambda site, page, words: site._results(_number(page), unquote(words)),
}
"""The first word of an address and the number of the others → its page."""
_POST_VERBS: Mapping[str, Callable[[ForumChanges, int], object]] = {
    "up": lambda made, post: made.votes.update({post: 1}),
    "down": lambda made, post: made.votes.update({post: -1}),
    "unvote": lambda made, post: made.votes.pop(post),
    "remove": lambda made, post: made.removed.symmetric_difference_update({post}),
    "report": lambda made, post: made.reported.symmetric_difference_update({post}),
    "delete": lambda made, reply: made.replies.pop(reply),
}
"""Verb → what it changes, by the number of a post or of a reply."""
_THREAD_VERBS: Mapping[str, Callable[[ForumSite, ForumThread, dict[str, str]], str | None]] = {
    "follow": lambda site, thread, _: site.made.followed.symmetric_difference_update({thread.number}),
    "lock": lambda site, thread, _: _flip(site.made.locked, thread.number, thread.locked),
    "pin": lambda site, thread, _: _flip(site.made.pinned, thread.number, thread.pinned),
    "move": ForumSite._move,
    "reply": ForumSite._reply,
}
"""Verb → what it does to a thread; it returns the address to which it leads, if it leads away."""


def _flip(changed: dict[int, bool], number: int, before: bool) -> None:
    if number in changed:
        del changed[number]
    else:
        changed[number] = not before


def _plain(answer: str) -> str:
    return " ".join(answer.strip(" .\"'").split()).casefold()


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise ArgumentError(f"{text!r:.40} is no number of a page")
    return int(text)


def _slice(items: list[ItemT], page: int, size: int) -> list[ItemT]:
    if page < 1 or (page > 1 and (page - 1) * size >= len(items)):
        raise ArgumentError(f"there is no page {page}")
    return items[(page - 1) * size : page * size]


def _turning(prefix: str, page: int, count: int, size: int, suffix: str = "") -> list[PageRow]:
    """Return the row that leads to the pages before and after, if there are several."""
    pages = max(1, ceil(count / size))
    if pages == 1:
        return []
    links: list[PagePiece] = [f"Page {page} of {pages}."]
    if page > 1:
        links.append(PageLink("Previous page", f"{prefix}{page - 1}{suffix}"))
    if page < pages:
        links.append(PageLink("Next page", f"{prefix}{page + 1}{suffix}"))
    return [page_row(*links)]
