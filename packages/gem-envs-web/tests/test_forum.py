"""The forum: its pages, its tasks, and the end states that are paid."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError
from gem_envs_web.forum.env import ForumEnv, ForumPolicy
from gem_envs_web.forum.site import ForumChanges
from gem_envs_web.sites.page import PageButton, PageField, PageLink

LEVELS = ("web:Forum-v0-easy", "web:Forum-v0", "web:Forum-v0-hard")
numbers = st.integers(0, (1 << 48) - 1)
POST = re.compile(r"^#(\d+) by \[(\w+)\] on ([\d-]+), (-?\d+) votes?$", re.MULTILINE)


def forum(name: str, number: int, **kwargs: Any) -> ForumEnv:
    """Return the environment of a level, at the beginning of a task."""
    env = gem.make(name, **kwargs).unwrapped
    assert isinstance(env, ForumEnv)
    env.reset(seed=0, options={"task": number})
    return env


def played(env: ForumEnv, steps: Any) -> float:
    """Return the reward of these actions, none of which may be impossible."""
    reward = 0.0
    for step in steps:
        _, reward, _, _, info = env.step(step)
        assert info["action_status"] == "legal", step
    return reward


@given(number=numbers)
def test_the_steps_of_a_task_fulfil_it(number: int) -> None:
    """On every level and in both splits; each of them is possible where it stands."""
    env = forum(LEVELS[number % 3], number, split=("train", "test")[number % 2])
    assert played(env, env.task.steps) == 1.0


@given(number=numbers, data=st.data())
def test_every_change_is_needed_and_no_other_is_allowed(number: int, data: st.DataObject) -> None:
    """Without one of them, or with one more, nothing is earned."""
    env = forum(data.draw(st.sampled_from(LEVELS)), number)
    pattern = r"click\[(Vote|Remove|Post reply|Follow|Lock|Move\]|Save|Create|Mail)"
    changes = [place for place, step in enumerate(env.task.steps) if re.match(pattern, step)]
    if changes:
        left_out = data.draw(st.sampled_from(changes))
        steps = [step for place, step in enumerate(env.task.steps) if place != left_out]
        assert played(env, steps) == 0.0
        env.reset(seed=0, options={"task": number})
    thread = next(iter(env.task.forum.threads.values()))
    for step in env.task.steps[:-1]:
        env.step(step)
    env.site.send(f"thread/{thread.number}/1", "follow", {})
    assert played(env, env.task.steps[-1:]) == 0.0


def shown_posts(env: ForumEnv, thread: int) -> list[tuple[str, ...]]:
    """Return numbers, authors, days and votes as the pages of a thread show them."""
    found, page = [], 1
    while True:
        shown = env.site.page(f"thread/{thread}/{page}")
        found += POST.findall(shown.text({}))
        if not any(isinstance(piece, PageLink) and piece.label == "Next page" for piece in shown.pieces()):
            return found
        page += 1


def thread_in(env: ForumEnv) -> int:
    """Return the thread that the demand names, found by the words of the demand alone."""
    named = re.search(
        r'thread "(.*)"(?: that (\w+) started)? on the board ([\w ]+?)(?=[?.:,]| (?:with|that|shall|needs)\b|, )',
        env.task.demand,
    )
    assert named is not None, env.task.demand
    fits = [
        t.number
        for t in env.task.forum.threads.values()
        if t.title == named[1]
        and named[3].startswith(env.task.forum.boards[t.board].name)
        and named[2] in (None, t.author)
    ]
    assert len(fits) == 1, (env.task.demand, fits)
    return fits[0]


def test_answers_agree_with_the_pages() -> None:
    """Computed a second time from the texts that the site shows and the words of the demand."""
    seen = Counter[str]()
    for number in range(40):
        for name in LEVELS:
            env = forum(name, number)
            task = env.task
            if task.answer is None:
                continue
            posts = shown_posts(env, thread_in(env))
            authors = [author for _, author, _, _ in posts]
            if task.family == "most_votes":
                expected = max(posts, key=lambda post: int(post[3]))[1]
            elif task.family in ("count_posts", "votes_of"):
                rest = task.demand.replace(re.findall(r'"(.*)"', task.demand)[0], "")
                asked = next(a for a in sorted({*authors}, key=len, reverse=True) if re.search(rf"\b{a}\b", rest))
                votes = next(post[3] for post in posts if post[1] == asked)
                expected = str(authors.count(asked)) if task.family == "count_posts" else votes
            else:
                joined = {
                    a: re.findall(r"Member since: ([\d-]+)", env.site.page(f"member/{a}").text({}))[0] for a in authors
                }
                expected = min(joined, key=lambda a: joined[a])
            assert task.answer == expected, task.demand
            seen[task.family] += 1
    assert {*seen} == {"most_votes", "count_posts", "votes_of", "earliest"}
    assert min(seen.values()) > 4


def test_a_clean_up_removes_what_advertises() -> None:
    """Posts with a code for a discount, and no others, by the texts of the pages."""
    tasks = [env for number in range(60) if (env := forum(LEVELS[2], number)).task.family == "clean"]
    assert len(tasks) > 5
    for env in tasks:
        thread = thread_in(env)
        texts = {p.number: p.text for p in env.task.forum.posts.values() if p.thread == thread}
        adverts = {
            number for number, text in texts.items() if re.search(r"\b(code|Write|Discount with) [A-H]\d{3}\b", text)
        }
        assert env.task.wanted.removed == adverts
        assert len(adverts) > 1


@given(number=numbers, seed=st.integers(0, 99))
def test_a_walk_meets_no_page_with_two_things_of_one_label(number: int, seed: int) -> None:
    """Links with one label lead to one address; buttons and fields have labels of their own."""
    rng = random.Random(seed)
    env = forum(rng.choice(LEVELS), number, max_turns=30)
    env.reset(seed=seed, options={"task": number})
    over = False
    while not over:
        targets: dict[str, Any] = {}
        for piece in env.page.pieces():
            if not isinstance(piece, str):
                label = piece.label.casefold()
                target = piece.address if isinstance(piece, PageLink) else piece
                assert targets.setdefault(label, target) == target
        action = env.sample_random_action()
        _, _, terminated, truncated, _ = env.step(action if not action.startswith("answer") else "click[Boards]")
        over = terminated or truncated


@given(number=numbers)
def test_every_button_can_be_undone(number: int) -> None:
    """A button pressed twice, or its counterpart after it, leaves the forum as it was."""
    env = forum(LEVELS[number % 3], number)
    site = env.site
    thread = next(t for t in env.task.forum.threads.values() if not t.locked)
    address = f"thread/{thread.number}/1"
    for button in [piece for piece in site.page(address).pieces() if isinstance(piece, PageButton)]:
        verb, _, post = button.command.partition("-")
        if verb in ("reply", "move"):
            continue
        site.send(address, button.command, {})
        assert site.made != ForumChanges()
        site.send(address, f"unvote-{post}" if verb in ("up", "down") else button.command, {})
        assert site.made == ForumChanges(), button
    after = site.send(address, "reply", {"reply": "Hello"})
    assert "Your reply: [Delete reply 1]\n    Hello" in site.page(after).text({})
    site.send(after, "delete-0", {})
    mine = site.send(f"new/{thread.board}", "create", {"title": "A", "text": "B"})
    site.send(mine, "drop-0", {})
    site.send("profile", "profile", {"place": "Turku", "about": "x", "mail": "yes"})
    fields = {f.name: f for f in site.page("profile").pieces() if isinstance(f, PageField)}
    assert (fields["place"].value, fields["mail"].value) == ("Turku", "yes")
    me = env.task.forum.me
    site.send("profile", "profile", {"place": me.place, "about": me.about})
    assert site.made == ForumChanges()


def test_a_moved_thread_is_on_its_new_board() -> None:
    """And no longer on the old one, until it is moved back."""
    env = forum(LEVELS[2], 3)
    forum_, site = env.task.forum, env.site
    thread = forum_.threads_of(1)[0]
    site.send(f"thread/{thread.number}/1", "move", {"board": forum_.boards[2].name})
    pages = [
        site.page(f"board/{n}/{p}").text({}) for n in (1, 2) for p in (1, 2) if len(forum_.threads_of(n)) > 9 or p == 1
    ]
    assert sum(f"[T{thread.number}:" in page for page in pages) == 1
    site.send(f"thread/{thread.number}/1", "move", {"board": forum_.boards[1].name})
    assert site.made == ForumChanges()


def test_training_and_testing_share_no_account() -> None:
    """The agent's account has a name of its split, so no forum is in both."""
    names = [{forum(LEVELS[0], n, split=split).task.forum.me.name for n in range(50)} for split in ("train", "test")]
    assert not names[0] & names[1]
    assert min(map(len, names)) > 30


def test_a_hasty_visitor_fails_from_level_two_on() -> None:
    """One who turns no pages and opens no profiles fulfils easy tasks, and few others."""
    scores = []
    for name in LEVELS:
        env = forum(name, 0)
        policy = ForumPolicy(env, hasty=True)
        won = 0.0
        for number in range(25):
            env.reset(seed=0, options={"task": number})
            policy.reset("", {})
            over = False
            while not over:
                _, reward, terminated, truncated, _ = env.step(policy.act("", {}))
                won, over = won + reward, terminated or truncated
        scores.append(won / 25)
    assert scores[0] == 1.0
    assert max(scores[1:]) < 0.4


@pytest.mark.parametrize(
    "address",
    [
        "",
        "boards/1",
        "board/9/1",
        "board/1/7",
        "board/1/0",
        "thread/1/1",
        "thread/x/1",
        "member/Nobody",
        "mine/0",
        "new/²",
    ],
)
def test_other_addresses_are_refused(address: str) -> None:
    """With an error, not a page."""
    with pytest.raises((ArgumentError, LookupError)):
        forum(LEVELS[1], 1).site.page(address)


def test_commands_without_a_button_are_refused() -> None:
    """A member cannot send what only a moderator's pages offer."""
    env = forum(LEVELS[0], 1)
    thread = next(iter(env.task.forum.threads.values()))
    for command in ("lock", f"remove-{thread.posts[0]}", "unvote-1", "delete-0", ""):
        with pytest.raises(ArgumentError, match="no button"):
            env.site.send(f"thread/{thread.number}/1", command, {})


@pytest.mark.parametrize(
    ("kwargs", "message"), [({"level": 4}, "level"), ({"boards": 1}, "boards"), ({"split": "x"}, "split")]
)
def test_bad_arguments_are_refused_by_name(kwargs: dict[str, Any], message: str) -> None:
    """Before any forum is made."""
    with pytest.raises(ArgumentError, match=message):
        gem.make(LEVELS[1], **kwargs)


@pytest.mark.nightly
def test_there_are_more_than_a_million_tasks() -> None:
    """Of 3,000 tasks of a level no two are alike, so with 95 % there are more than 10⁶ (birthday bound)."""
    for name in LEVELS:
        env = forum(name, 0)
        seen = set()
        for number in range(3000):
            observation, _ = env.reset(seed=0, options={"task": number})
            seen.add(observation)
        assert len(seen) == 3000


def test_a_link_is_clicked_since_threads_can_be_followed() -> None:
    """A message that an agent follows a thread would say that it has subscribed to it."""
    env = gem.make("web:Forum-v0-easy")
    env.reset(seed=0)
    assert "You click Garden." in env.step("click[Garden]")[0]
    assert "You click T64: What to do when lawns turn yellow?" in env.step("click[T64]")[0]
