"""The contents of a forum before the agent acts: :class:`Community`, made by :func:`community`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from gem.tables import read_table

__all__ = [
    "PLACES",
    "Community",
    "ForumBoard",
    "ForumMember",
    "ForumPost",
    "ForumThread",
    "community",
    "names_of_split",
]

_TABLES = read_table(__file__, "community.json")
PLACES: tuple[str, ...] = tuple(_TABLES["places"])
_FIRST: Sequence[str] = _TABLES["first"]
_SECOND: Sequence[str] = _TABLES["second"]
_ABOUT: Sequence[str] = _TABLES["about"]
_TITLES: Sequence[str] = _TABLES["titles"]
_OPENINGS: Sequence[str] = _TABLES["openings"]
_REPLIES: Sequence[str] = _TABLES["replies"]
_ADVERTS: Sequence[str] = _TABLES["adverts"]
_COMPLAINTS: Sequence[str] = _TABLES["complaints"]
_SHOPS: Sequence[str] = _TABLES["shops"]
_LATEST = date(2026, 6, 30)


class ForumMember(NamedTuple):
    """Somebody who writes."""

    name: str
    joined: date
    place: str
    about: str


class ForumBoard(NamedTuple):
    """A part of the forum."""

    number: int
    name: str
    about: str


class ForumPost(NamedTuple):
    """A post."""

    number: int
    thread: int
    author: str
    day: date
    text: str
    votes: int
    advert: bool = False


class ForumThread(NamedTuple):
    """A thread."""

    number: int
    board: int
    title: str
    author: str
    posts: tuple[int, ...]
    """The numbers of its posts in their order."""
    pinned: bool = False
    locked: bool = False


class Community(NamedTuple):
    """All that a forum holds."""

    name: str
    me: ForumMember
    """The account of the agent."""
    members: dict[str, ForumMember]
    boards: dict[int, ForumBoard]
    threads: dict[int, ForumThread]
    posts: dict[int, ForumPost]

    order: dict[int, list[ForumThread]]
    """The threads of each board: pinned ones first, then those with the latest posts."""

    def threads_of(self, board: int) -> list[ForumThread]:
        """Return the threads of a board in their order."""
        return self.order[board]

    def posts_of(self, thread: ForumThread) -> list[ForumPost]:
        """Return the posts of a thread in their order."""
        return [self.posts[number] for number in thread.posts]


@cache
def _topics() -> tuple[dict[str, Any], ...]:
    found = read_table(__file__, "data/topics.toml")
    return tuple(found["topic"])


@cache
def names_of_split(split: str) -> tuple[str, ...]:
    """Return the names that the agent's account can have: no name is in both splits."""
    names = [f"{first}{second}" for first in _FIRST for second in _SECOND]
    return tuple(name for place, name in enumerate(names) if (place % 5 == 0) is (split == "test"))


def community(rng: random.Random, split: str, boards: int, threads: int, lookalikes: bool) -> Community:
    """Make a forum.

    Args:
        rng: decides on everything.
        split: decides on the names that the agent's account can have.
        boards: number of boards, at most eight.
        threads: mean number of threads of a board.
        lookalikes: whether titles of threads occur twice, names of members resemble each other, and adverts are posted.
    """
    my_name = rng.choice(names_of_split(split))
    members = _members(rng, my_name, 24, lookalikes)
    me = ForumMember(my_name, _LATEST - timedelta(days=rng.randrange(30, 900)), rng.choice(PLACES), rng.choice(_ABOUT))
    chosen = rng.sample(_topics(), boards)
    made = Community(
        f"The {rng.choice(PLACES)} Board",
        me,
        members,
        {n: ForumBoard(n, t["name"], t["about"]) for n, t in enumerate(chosen, 1)},
        {},
        {},
        {},
    )
    plans = [(n, t) for n, t in enumerate(chosen, 1) for _ in range(threads + rng.randint(-1, 1))]
    rng.shuffle(plans)
    titles: set[tuple[int, str]] = set()
    drafts: list[tuple[int, dict[str, Any], dict[str, str], str]] = []
    for board, topic in plans:
        words = _words(rng, topic)
        title = _capital(rng.choice(_TITLES).format(**words))
        if lookalikes and drafts and rng.random() < 0.2:
            title = rng.choice([draft[3] for draft in drafts if draft[0] == board] or [title])
        if (board, title) in titles and not lookalikes:
            continue
        titles.add((board, title))
        drafts.append((board, topic, words, title))
    _write(rng, made, drafts, lookalikes)
    ordered = sorted(made.threads.values(), key=lambda t: (not t.pinned, -t.posts[-1]))
    made.order.update({number: [t for t in ordered if t.board == number] for number in made.boards})
    return made


def _members(rng: random.Random, me: str, count: int, lookalikes: bool) -> dict[str, ForumMember]:
    every = [f"{first}{second}" for first in _FIRST for second in _SECOND]
    names: list[str] = []
    while len(names) < count:
        name = rng.choice(every)
        if lookalikes and names and rng.random() < 0.3:
            name = f"{rng.choice(names).rstrip('0123456789')}{rng.randrange(2, 99)}"
        if name not in names and name != me:
            names.append(name)
    days = rng.sample(range(60, 3000), count)
    return {
        name: ForumMember(name, _LATEST - timedelta(days=ago), rng.choice(PLACES), rng.choice(_ABOUT))
        for name, ago in zip(names, days, strict=True)
    }


def _write(
    rng: random.Random,
    made: Community,
    drafts: Sequence[tuple[int, dict[str, Any], dict[str, str], str]],
    adverts: bool,
) -> None:
    """Fill the threads with posts, whose numbers and dates rise together."""
    names = [*made.members]
    number, numbers = 100, rng.sample(range(10, 99), len(drafts))
    longest = 14 if adverts else 9
    lengths = [rng.randint(2, longest) for _ in drafts]
    order = [place for place, length in enumerate(lengths) for _ in range(length)]
    rng.shuffle(order)
    day = _LATEST - timedelta(days=200)
    step = 200 / len(order)
    written: list[list[int]] = [[] for _ in drafts]
    talkers = [rng.sample(names, min(len(names), rng.randint(3, 7))) for _ in drafts]
    votes: list[list[int]] = [rng.sample(range(40), 20) for _ in drafts]
    for place, thread in enumerate(order):
        _, topic, words, _ = drafts[thread]
        number += rng.randint(1, 3)
        text, advert = _text(rng, topic, words, first=not written[thread], adverts=adverts)
        author = rng.choice(talkers[thread])
        posted = day + timedelta(days=int(place * step))
        made.posts[number] = ForumPost(
            number, numbers[thread], author, posted, text, votes[thread][len(written[thread])], advert
        )
        written[thread].append(number)
    for place, (board, _, _, title) in enumerate(drafts):
        posts = tuple(written[place])
        author = made.posts[posts[0]].author
        pinned, locked = rng.random() < 0.08, rng.random() < 0.06
        made.threads[numbers[place]] = ForumThread(numbers[place], board, title, author, posts, pinned, locked)


def _text(
    rng: random.Random, topic: dict[str, Any], words: dict[str, str], first: bool, adverts: bool
) -> tuple[str, bool]:
    if first:
        return _capital(rng.choice(_OPENINGS).format(**words)), False
    chance = rng.random() if adverts else 1.0
    own = {**_words(rng, topic), "things": words["things"]}
    if chance < 0.08:
        return _capital(rng.choice(_ADVERTS if chance < 0.05 else _COMPLAINTS).format(**own)), chance < 0.05
    return _capital(rng.choice(_REPLIES).format(**own)), False


def _words(rng: random.Random, topic: dict[str, Any]) -> dict[str, str]:
    things = rng.choice(topic["things"])
    return {
        "things": things,
        "Things": _capital(things),
        "trouble": rng.choice(topic["troubles"]),
        "remedy": rng.choice(topic["remedies"]),
        "shop": rng.choice(_SHOPS),
        "code": f"{rng.choice('ABCDEFGH')}{rng.randrange(100, 1000)}",
    }


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
