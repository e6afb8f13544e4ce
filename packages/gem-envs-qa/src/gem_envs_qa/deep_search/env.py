"""DeepSearch: questions of several hops about a large generated world, with the search engine as the only way to it.

The skill is to search in steps: to see what must be known first, to find it among many articles that share its words,
to go on from what was found, to stop when the answer is certain, and to say which articles prove it. All names are
invented and dealt out anew for each episode, so nothing can be answered from memory. Each fact of the chain stands in
one article, no article has two of them, and none has both the entity that the question names and the answer.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from gem.arguments import choice
from gem.counts import counted
from gem.text_env import MoveResult, TextEnv, failure, success
from gem_envs_qa.atlas.atlas import SPLITS
from gem_envs_qa.atlas.questions import HOPS, FactChain, row_of
from gem_envs_qa.deep_search.form import SearchAction, SearchActionForm
from gem_envs_qa.deep_search.questions import worded
from gem_envs_qa.deep_search.search_env import SMALLEST, WorldSearchEnv
from gem_envs_qa.grading import exact_match

__all__ = ["DeepSearchEnv"]

_TEST_SHARE = 5


class SearchLevel(NamedTuple):
    """The size of a task."""

    hops: int
    topk: int
    """Articles in an answer of the search engine."""
    turns: int


LEVELS: Mapping[str, SearchLevel] = MappingProxyType(
    {
        "easy": SearchLevel(2, 5, 16),
        "medium": SearchLevel(3, 5, 24),
        "hard": SearchLevel(4, 3, 40),
    }
)
"""Name → level, from the easiest to the hardest."""

EVIDENCE = ("required", "ignored")


class DeepSearchEnv(WorldSearchEnv):
    """One question about a world of at least 10,000 articles per episode; each turn is a search or the answer.

    ``info`` of the last step has ``answer_correct``, ``evidence_complete`` (every needed article is cited) and
    ``evidence_precise`` (at most as many others are), whatever is rewarded.

    Args:
        level: ``"easy"``: two hops, five articles a search; ``"medium"``: three hops; ``"hard"``: four hops, three
            articles a search.
        evidence: ``"required"``: the reward is 1.0 for a right answer whose evidence is complete and precise;
            ``"ignored"``: for a right answer. The needed articles are those that state the facts; one that only says
            that two names mean the same is among the others.
        split: ``"train"`` or ``"test"``. No chain of facts is in both.
        names: ``"episode"``: the invented words of the world and the numbers of its articles change places at each
            reset; ``"world"``: everything keeps its name, so that facts can be remembered from one episode to the next.
        world_seed: determines the world and all its names. Environments share a world.
        size: number of articles, 10,000 … 200,000.
        topk: articles in an answer of the search engine, 1 … 20; None: by the level.
        max_turns: turns that the instructions announce; None: by the level (16, 24, 40).
    """

    form = SearchActionForm()
    closings: ClassVar[Mapping[str, str]] = {
        **TextEnv.closings,
        "success": "That is right.",
        "failure": "That is wrong.",
    }

    def __init__(
        self,
        level: str = "medium",
        evidence: str = "required",
        split: str = "train",
        names: str = "episode",
        world_seed: int = 0,
        size: int = SMALLEST,
        topk: int | None = None,
        max_turns: int | None = None,
    ) -> None:
        own = LEVELS[choice("level", level, tuple(LEVELS))]
        self.level = level
        self.evidence = choice("evidence", evidence, EVIDENCE)
        self.split = choice("split", split, SPLITS)
        self._hops = own.hops
        self._last: dict[str, bool] | None = None
        super().__init__(
            names,
            world_seed,
            size,
            own.topk if topk is None else topk,
            own.turns if max_turns is None else max_turns,
        )

    def _open(self, key: int) -> None:
        """Draw the question of a key: the first chain of this split."""
        searched = self._world
        chains = searched.chains[self._hops]
        rng = random.Random(key)
        while True:
            question = chains.draw(rng)
            if question is None or _split_of(question.chains[0]) != self.split:
                continue
            row = row_of(searched.world, HOPS[self._hops - 1], question, key, worded)
            start = question.chains[0].start
            named = searched.mentions.of(filter(None, (start.name, start.alias)))
            if not named & searched.mentions.of(row["answer"]):
                break
        self._rename(key)
        self._last = None
        answers = [self._told(answer) for answer in row["answer"]]
        documents = [self._numbered(document) for document in row["documents"]]
        self.row = {**row, "question": self._told(row["question"]), "answer": answers, "documents": documents}

    def _instructions(self) -> str:
        evidence = (
            "\n<evidence>12, 7</evidence>: with the answer, the numbers of the articles that prove it. All that are "
            "needed must be there, and at most as many others."
            if self.evidence == "required"
            else ""
        )
        return (
            "This question is about a world that nobody has heard of; what is known of it stands in a collection of "
            f"{self._of_world[1]:,} articles. Search it step by step: no article has the whole answer.\n"
            f"{self._how_to_search()}"
            f"<answer>your answer</answer>: your one chance, which ends the episode{evidence}\n"
            f"You have {counted(self.max_turns, 'turn')}, and every answer takes one. You may think first.\n\n"
            f"Question: {self.row['question']}"
        )

    def _graded(self, move: SearchAction) -> MoveResult:
        needed = set(self.row["documents"])
        correct = exact_match(move.answer, self.row["answer"])
        complete = needed.issubset(move.cited)
        precise = len(move.cited) <= 2 * len(needed)
        self._last = {"answer_correct": correct, "evidence_complete": complete, "evidence_precise": precise}
        if not correct:
            return failure("Your answer is not the right one.")
        if self.evidence == "ignored":
            return success("Your answer is the right one.")
        if not complete:
            return failure("Your answer is the right one, but the evidence does not prove it.")
        if not precise:
            return failure("Your answer is the right one, but the evidence has too many other articles.")
        return success("Your answer is the right one, and the evidence proves it.")

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Search or answer; see the class for ``info``."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self._last is not None:
            info.update(self._last)
        return observation, reward, terminated, truncated, info

    def _random_action(self) -> str:
        rng, corpus = self.action_rng, self._world.corpus
        title = self._told(rng.choice(corpus)["title"])
        if rng.random() < 0.1:
            return f"<answer>{title}</answer>\n<evidence>{rng.randrange(len(corpus))}</evidence>"
        words = self.row["question"].translate(str.maketrans("", "", ".,;:?")).split()
        return (
            f"<search>{' '.join(rng.sample(words, 2))}</search>" if rng.random() < 0.5 else f"<search>{title}</search>"
        )


def _split_of(chain: FactChain) -> str:
    """Return the split of a chain of facts, which its start and its relations alone decide."""
    name = f"{chain.start.id}:{':'.join(relation.name for relation in chain.path)}"
    return SPLITS[int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") % _TEST_SHARE == 0]
