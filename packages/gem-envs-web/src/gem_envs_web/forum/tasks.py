"""The families of tasks on a forum, and :func:`forum_task`, which draws a forum and a task there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from gem.tables import read_table
from gem_envs_web.forum.community import PLACES, ForumThread, community
from gem_envs_web.forum.maker import ForumTask, ForumTaskMaker, NoSuchTaskError
from gem_envs_web.forum.site import POSTS_ON_A_PAGE, THREADS_ON_A_PAGE, ForumChanges
from gem_envs_web.forum.trail import ForumTrail

__all__ = ["FAMILIES", "forum_task"]

_TABLES = read_table(__file__, "tasks.json")
_SENTENCES: Sequence[str] = _TABLES["sentences"]
_SUBJECTS: Sequence[str] = _TABLES["subjects"]


class _Maker(ForumTaskMaker):
    """The families. Each is a method that states its task, and acts as a visitor who may be hasty."""

    def _demand(self, family: str, thread: ForumThread | None = None, **words: str) -> str:
        """Return a task in one of the wordings of its family."""
        if thread is not None:
            words |= {"thread": self._named(thread), "Thread": self._named(thread, capital=True)}
        text: str = self.rng.choice(_TABLES["demands"][family])
        return text.format(**words)

    def vote(self) -> ForumTask:
        thread = self._thread(lambda t: len(t.posts) <= POSTS_ON_A_PAGE, near=True)
        post = self._lone_post(thread)
        up = self.rng.random() < 0.6
        word, button = ("up", "Vote up") if up else ("down", "Vote down")
        demand = self._demand("vote", thread, word=word, author=post.author)
        wanted = ForumChanges(votes={post.number: 1 if up else -1})
        return self._changing(
            "vote", demand, wanted, lambda trail: self._to(trail, thread, [f"click[{button} #{post.number}]"])
        )

    def reply(self) -> ForumTask:
        thread = self._thread(lambda t: len(t.posts) <= POSTS_ON_A_PAGE and not t.locked, near=True)
        text = self.rng.choice(_SENTENCES)
        demand = self._demand("reply", thread, text=text)
        wanted = ForumChanges(replies=[(thread.number, text)])
        return self._changing("reply", demand, wanted, lambda trail: self._to(trail, thread, self._reply(text)))

    def votes_of(self) -> ForumTask:
        thread = self._thread(lambda t: len(t.posts) <= POSTS_ON_A_PAGE, near=True)
        post = self._lone_post(thread)
        demand = self._demand("votes_of", thread, author=post.author)
        return self._asking("votes_of", demand, lambda trail: self._seen(trail, thread, str(post.votes)))

    def profile(self) -> ForumTask:
        place = self.rng.choice([one for one in PLACES if one != self.forum.me.place])
        mail = self.rng.random() < 0.5
        also = " Also have replies mailed to you." if mail else " Change nothing else."
        demand = self._demand("profile", place=place, also=also)
        steps = ["click[My profile]", f"select[Place][{place}]"]
        steps += ["click[Mail me about replies]"] * mail + ["click[Save profile]"]
        changed = {"place": place, "mail": "yes"} if mail else {"place": place}
        return self._changing("profile", demand, ForumChanges(profile=changed), lambda trail: trail.steps.extend(steps))

    def create(self) -> ForumTask:
        board = self.rng.choice([*self.forum.boards.values()])
        title, text = self.rng.choice(_SUBJECTS), self.rng.choice(_SENTENCES)
        demand = self._demand("create", board=board.name, title=title, text=text)

        def act(trail: ForumTrail) -> None:
            trail.board(board.number)
            trail.click("New thread")
            trail.steps += [f"type[Title][{title}]", f"type[Text][{text}]", "click[Create thread]"]

        return self._changing("create", demand, ForumChanges(threads=[(board.number, title, text)]), act)

    def most_votes(self) -> ForumTask:
        thread = self._thread(lambda t: len(t.posts) > POSTS_ON_A_PAGE)
        best = max(self.forum.posts_of(thread), key=lambda post: post.votes)
        self._needs(best not in self.forum.posts_of(thread)[:POSTS_ON_A_PAGE])
        demand = self._demand("most_votes", thread)

        def act(trail: ForumTrail) -> str:
            trail.thread(thread)
            return max(trail.read(thread), key=lambda post: post.votes).author

        return self._asking("most_votes", demand, act)

    def count_posts(self) -> ForumTask:
        thread, author = self._busy_author()
        demand = self._demand("count_posts", thread, author=author)

        def act(trail: ForumTrail) -> str:
            trail.thread(thread)
            return str(sum(post.author == author for post in trail.read(thread)))

        return self._asking("count_posts", demand, act)

    def vote_all(self) -> ForumTask:
        thread, author = self._busy_author()
        demand = self._demand("vote_all", thread, author=author)
        wanted = ForumChanges(votes={p.number: 1 for p in self.forum.posts_of(thread) if p.author == author})

        def act(trail: ForumTrail) -> None:
            trail.thread(thread)
            trail.read(thread, lambda post: [f"click[Vote up #{post.number}]"] if post.author == author else [])

        return self._changing("vote_all", demand, wanted, act)

    def reply_place(self) -> ForumTask:
        thread = self._thread(lambda t: not t.locked and len(t.posts) > POSTS_ON_A_PAGE)
        place = self.forum.members[self.forum.posts_of(thread)[-1].author].place
        demand = self._demand("reply_place", thread)

        def act(trail: ForumTrail) -> None:
            trail.thread(thread)
            author = trail.read(thread)[-1].author
            trail.profile(author)
            trail.thread(thread)
            trail.steps += self._reply(self.forum.members[author].place)

        return self._changing("reply_place", demand, ForumChanges(replies=[(thread.number, place)]), act)

    def follow_all(self) -> ForumTask:
        board = self.rng.choice([*self.forum.boards])
        threads = self.forum.threads_of(board)
        starters = Counter(thread.author for thread in threads)
        author = self._any([name for name, count in starters.items() if count > 1])
        mine = [thread for thread in threads if thread.author == author]
        self._needs(threads.index(mine[-1]) >= THREADS_ON_A_PAGE)
        name = self.forum.boards[board].name
        demand = self._demand("follow_all", board=name, author=author)

        def act(trail: ForumTrail) -> None:
            for thread in mine:
                if not (trail.hasty and threads.index(thread) >= THREADS_ON_A_PAGE):
                    self._to(trail, thread, ["click[Follow this thread]"])

        return self._changing("follow_all", demand, ForumChanges(followed={t.number for t in mine}), act)

    def clean(self) -> ForumTask:
        found = [t for t in self.forum.threads.values() if sum(p.advert for p in self.forum.posts_of(t)) > 1]
        thread = self._any(
            [
                t
                for t in found
                if not t.locked and self._is_alone(t) and any(p.advert for p in self.forum.posts_of(t)[5:])
            ]
        )
        demand = self._demand("clean", thread)
        adverts = {post.number for post in self.forum.posts_of(thread) if post.advert}

        def act(trail: ForumTrail) -> None:
            trail.thread(thread)
            trail.read(thread, lambda post: [f"click[Remove #{post.number}]"] if post.advert else [])
            trail.click("Lock this thread")

        wanted = ForumChanges(removed=adverts, locked={thread.number: True})
        return self._changing("clean", demand, wanted, act)

    def lock_old(self) -> ForumTask:
        board = self.rng.choice([*self.forum.boards])
        threads = self.forum.threads_of(board)
        free = [t for t in threads if not t.pinned and not t.locked]
        self._needs(len(free) > 6)
        count = self.rng.randint(2, 4)
        days = {t.number: self.forum.posts[t.posts[-1]].day for t in free}
        ordered = sorted(days.values())
        self._needs(ordered[count - 1] < ordered[count])
        limit = ordered[count - 1] + timedelta(days=1)
        old = [t for t in free if days[t.number] < limit]
        name = self.forum.boards[board].name
        demand = self._demand("lock_old", board=name, limit=str(limit))

        def act(trail: ForumTrail) -> None:
            for thread in old:
                if not (trail.hasty and threads.index(thread) >= THREADS_ON_A_PAGE):
                    self._to(trail, thread, ["click[Lock this thread]"])

        return self._changing("lock_old", demand, ForumChanges(locked={t.number: True for t in old}), act)

    def move(self) -> ForumTask:
        titles = Counter((t.board, t.title) for t in self.forum.threads.values())
        twins = [t for t in self.forum.threads.values() if titles[t.board, t.title] > 1 and not t.locked]
        thread = self._any([t for t in twins if self._is_alone(t)])
        first = self.forum.boards[thread.board]
        other = self.rng.choice([one for one in self.forum.boards.values() if one != first])
        text = f"Moved from {first.name}."
        demand = self._demand("move", thread, board=other.name, text=text)

        def act(trail: ForumTrail) -> None:
            same = [t for t in self.forum.threads_of(thread.board) if t.title == thread.title]
            trail.thread(same[0] if trail.hasty else thread)
            trail.steps += [f"select[Move to board][{other.name}]", "click[Move]", *self._reply(text)]

        wanted = ForumChanges(moved={thread.number: other.number}, replies=[(thread.number, text)])
        return self._changing("move", demand, wanted, act)

    def same_place(self) -> ForumTask:
        thread = self._thread(lambda t: len(t.posts) > POSTS_ON_A_PAGE)
        posts = self.forum.posts_of(thread)
        place = self.forum.members[self.rng.choice(posts).author].place
        chosen = [post for post in posts if self.forum.members[post.author].place == place]
        self._needs(1 < len(chosen) < 6)
        demand = self._demand("same_place", thread, place=place)

        def act(trail: ForumTrail) -> None:
            trail.thread(thread)
            seen = trail.read(thread)
            if trail.hasty:
                trail.steps += [f"click[Vote up #{post.number}]" for post in seen[:1]]
                return
            for author in dict.fromkeys(post.author for post in posts):
                trail.profile(author)
            trail.thread(thread)
            trail.read(thread, lambda post: [f"click[Vote up #{post.number}]"] if post in chosen else [])

        return self._changing("same_place", demand, ForumChanges(votes={p.number: 1 for p in chosen}), act)

    def earliest(self) -> ForumTask:
        thread = self._thread(lambda t: len(t.posts) > POSTS_ON_A_PAGE)
        authors = dict.fromkeys(post.author for post in self.forum.posts_of(thread))
        self._needs(len(authors) > 3)
        demand = self._demand("earliest", thread)

        def act(trail: ForumTrail) -> str:
            trail.thread(thread)
            seen = dict.fromkeys(post.author for post in trail.read(thread))
            if trail.hasty:
                return next(iter(seen))
            for author in seen:
                trail.profile(author)
            return min(seen, key=lambda name: self.forum.members[name].joined)

        task = self._asking("earliest", demand, act)
        self._needs(task.steps[-1] != task.hasty[-1])
        return task


FAMILIES: dict[int, tuple[Callable[[_Maker], ForumTask], ...]] = {
    1: (_Maker.vote, _Maker.reply, _Maker.votes_of, _Maker.profile, _Maker.create),
    2: (_Maker.most_votes, _Maker.count_posts, _Maker.vote_all, _Maker.reply_place, _Maker.follow_all),
    3: (_Maker.clean, _Maker.lock_old, _Maker.move, _Maker.same_place, _Maker.earliest),
}
"""Kinds of tasks by level: one place, several pages, a moderator's rules among lookalikes."""
_THREADS = {1: 6, 2: 10, 3: 12}


def forum_task(rng: random.Random, level: int, split: str, boards: int = 4) -> ForumTask:
    """Make a task and its forum; the name of the agent's account decides on the split.

    Args:
        rng: decides on everything.
        level: 1, 2 or 3.
        split: ``"train"`` or ``"test"``.
        boards: number of boards.
    """
    family = rng.choice(FAMILIES[level])
    while True:
        maker = _Maker(rng, community(rng, split, boards, _THREADS[level], lookalikes=level == 3))
        for _ in range(20):
            with suppress(NoSuchTaskError):
                return family(maker)
