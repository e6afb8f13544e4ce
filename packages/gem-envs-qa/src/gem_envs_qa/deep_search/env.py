"""DeepSearch: questions of several hops about a large generated world, with the search engine as the only way to it.

The skill is to search in steps: to see what must be known first, to find it among many articles that share its words,
to go on from what was found, to stop when the answer is certain, and to say which articles prove it. All names are
invented and dealt out anew for each episode, so nothing can be answered from memory. Each fact of the chain stands in
one article, no article has two of them, and none has both the entity that the question names and the answer.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from gem.arguments import choice, integer
from gem.counts import counted
from gem.fork_hooks import after_fork_in_child
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, failure, illegal, legal, malformed, success
from gem_envs_qa.atlas.atlas import SPLITS
from gem_envs_qa.atlas.questions import HOPS, FactChain, FactChains, row_of
from gem_envs_qa.atlas.world import LARGEST
from gem_envs_qa.deep_search.articles import search_articles
from gem_envs_qa.deep_search.form import SearchAction, SearchActionForm
from gem_envs_qa.deep_search.mentions import ArticleMentions
from gem_envs_qa.deep_search.naming import EpisodeNames, NameVocabulary, pieces_of
from gem_envs_qa.deep_search.questions import worded
from gem_envs_qa.deep_search.world import SearchWorld
from gem_envs_qa.grading import exact_match

if TYPE_CHECKING:
    from gem_tools.search import LocalIndex, SearchHit

__all__ = ["DeepSearchEnv"]

_KEY_BITS = 64
_TEST_SHARE = 5
_SMALLEST = 10_000
_LONGEST_QUERY = 300
_PUNCTUATION = "\"'.,;:!?()[]“”‘’"


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
NAMES = ("episode", "world")


class DeepSearchEnv(TextEnv[SearchAction]):
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
        names: ``"episode"``: the invented words of the world change places at each reset; ``"world"``: everything
            keeps its name, so that facts can be remembered from one episode to the next.
        world_seed: determines the world and all its names. Environments share a world.
        size: number of articles, 10,000 … 200,000.
        topk: articles in an answer of the search engine, 1 … 20; None: by the level.
        max_turns: turns that the instructions announce; None: by the level (16, 24, 40).
    """

    form = SearchActionForm()
    saved = StateFields(_key=int, _query=str, _page=int)
    request = ""
    closings: ClassVar[Mapping[str, str]] = {
        **TextEnv.closings,
        "success": "That is right.",
        "failure": "That is wrong.",
    }
    _key: int
    _query: str
    """The words of the last search."""
    _page: int
    """The number of times that further results of it were shown."""

    def __init__(
        self,
        level: str = "medium",
        evidence: str = "required",
        split: str = "train",
        names: str = "episode",
        world_seed: int = 0,
        size: int = _SMALLEST,
        topk: int | None = None,
        max_turns: int | None = None,
    ) -> None:
        own = LEVELS[choice("level", level, tuple(LEVELS))]
        self.level = level
        self.evidence = choice("evidence", evidence, EVIDENCE)
        self.split = choice("split", split, SPLITS)
        self.names = choice("names", names, NAMES)
        integer("world_seed", world_seed, minimum=0, maximum=(1 << 64) - 1)
        integer("size", size, minimum=_SMALLEST, maximum=LARGEST)
        self.topk = own.topk if topk is None else integer("topk", topk, minimum=1, maximum=20)
        self._hops = own.hops
        self._of_world = world_seed, size
        self._last: dict[str, bool] | None = None
        self._renaming: EpisodeNames | None = None
        if max_turns is None:
            max_turns = own.turns
        super().__init__(max_turns=integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))

    @property
    def _world(self) -> SearchedWorld:
        return searched_world(*self._of_world)

    def __getstate__(self) -> dict[str, Any]:
        # The names follow from the key, and the vocabulary belongs to the world.
        return {**self.__dict__, "_renaming": None}

    @property
    def _names(self) -> EpisodeNames:
        if self._renaming is None:
            self._renaming = EpisodeNames(self._world.vocabulary, self._key)
        return self._renaming

    def _told(self, text: str) -> str:
        """Return a text of the world as the episode has it."""
        return self._names.told(text) if self.names == "episode" else text

    def _begin(self) -> None:
        self._open(self.rng.getrandbits(_KEY_BITS))
        self._query, self._page = "", 0

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
        self._key, self._last, self._renaming = key, None, None
        answers = [self._told(answer) for answer in row["answer"]]
        self.row = {**row, "question": self._told(row["question"]), "answer": answers}

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("_page", self._page, minimum=0)
        self._open(integer("_key", self._key, minimum=0, maximum=(1 << _KEY_BITS) - 1))

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
            f"<search>words</search>: the search engine shows up to {self.topk} articles, the best first\n"
            "<more/>: the next ones for the same words\n"
            f"<answer>your answer</answer>: your one chance, which ends the episode{evidence}\n"
            f"You have {counted(self.max_turns, 'turn')}, and every answer takes one. You may think first.\n\n"
            f"Question: {self.row['question']}"
        )

    def _play(self, move: SearchAction) -> MoveResult:
        if move.query is None:
            return self._graded(move)
        if len(move.query) > _LONGEST_QUERY:
            return illegal(f"A query has at most {_LONGEST_QUERY} characters.")
        if move.query:
            self._query, self._page = "", 0
            terms = self._world.engine.terms(move.query, function_words=False)
            if not terms:
                return legal(
                    'Nothing was found: words such as "of" and "the" do not count in a search, and the query has no '
                    "others."
                )
            self._query = move.query
        elif not self._query:
            return illegal("Search for something first.")
        else:
            self._page += 1
        first = self._page * self.topk
        hits = self._found(first + self.topk)[first:]
        if first and not hits:
            return legal('No other article has any of these words, apart from words such as "the".')
        missing = self._unmatched()
        if not hits:
            return legal(missing)
        shown = "\n".join(map(self._shown, hits))
        return legal(f"The search engine shows {counted(len(hits), 'article')}.{missing and ' ' + missing}\n{shown}")

    def _unmatched(self) -> str:
        """Return a sentence on the words of the last search that no article has; "" if there are none."""
        engine, missing = self._world.engine, []
        for word in dict.fromkeys(self._query.split()):
            terms = engine.terms(word, function_words=False)
            if terms and not any(map(engine.documents_with, self._in_the_world(terms))):
                missing.append(f'"{word.strip(_PUNCTUATION)}"')
        if len(missing) > 1:
            return f"No article has any of the words {', '.join(missing[:-1])} and {missing[-1]}."
        return f"No article has the word {missing[0]}." if missing else ""

    def _shown(self, hit: SearchHit) -> str:
        """Return an article in one line, which the environments of a world have in pieces."""
        lines = self._world.lines
        pieces = lines.get(hit.id)
        if pieces is None:
            pieces = lines[hit.id] = pieces_of(f"[{hit.id}] {hit.title}: {hit.text}")
        return self._names.joined(pieces) if self.names == "episode" else "".join(pieces)

    def _found(self, count: int) -> list[SearchHit]:
        """Return the best articles for the last search, in the names of the world."""
        engine = self._world.engine
        return engine.search_terms(self._in_the_world(engine.terms(self._query, function_words=False)), count)

    def _in_the_world(self, terms: Sequence[str]) -> Sequence[str]:
        """Return terms of a query in the names of the world."""
        return self._names.terms_of_the_world(terms) if self.names == "episode" else terms

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

    def _malformed(self) -> MoveResult:
        return malformed("Search with <search>words</search>, or answer with <answer>…</answer>.", 0.0, ends=False)

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


class SearchedWorld(NamedTuple):
    """What all environments of a world share."""

    world: SearchWorld
    corpus: Sequence[Mapping[str, str]]
    """The articles: ``id``, ``title``, and ``contents`` with the title in quotation marks on its first line."""
    engine: LocalIndex
    mentions: ArticleMentions
    vocabulary: NameVocabulary
    chains: Mapping[int, FactChains]
    """Number of hops → the chains."""
    lines: dict[str, tuple[str, ...]]
    """The id of an article that was shown → its line, in pieces."""


_lock = threading.Lock()
_worlds: dict[tuple[int, int], SearchedWorld] = {}
_KEPT = 4
"""Worlds that a process keeps."""


def searched_world(world_seed: int, size: int) -> SearchedWorld:
    """Return the index and the chains of a world, one for all environments of the process."""
    found = _worlds.get((world_seed, size))
    if found is None:
        with _lock:
            found = _worlds.get((world_seed, size))
            if found is None:
                from gem_tools.search import local_index

                world = SearchWorld(world_seed, size)
                corpus = _corpus_of(world)
                chains = {level.hops: FactChains(world, level.hops) for level in LEVELS.values()}
                engine = local_index(corpus)
                texts = [document["contents"] for document in corpus]
                vocabulary = NameVocabulary(world.languages, texts, engine.terms)
                found = SearchedWorld(world, corpus, engine, ArticleMentions(corpus), vocabulary, chains, {})
                while len(_worlds) >= _KEPT:
                    del _worlds[next(iter(_worlds))]
                _worlds[world_seed, size] = found
    return found


def _corpus_of(world: SearchWorld) -> Sequence[Mapping[str, str]]:
    """Return the articles of a world."""
    digest = blake2b(b"search articles:%x:%x" % (world.seed, world.size), digest_size=16).digest()
    texts = search_articles(world, random.Random(int.from_bytes(digest, "little")))
    return tuple(
        {"id": str(entity.id), "title": entity.name, "contents": f'"{entity.name}"\n{text}'}
        for entity, text in zip(world.entities, texts, strict=True)
    )


def _renewed() -> None:
    # Another thread of the parent may have held the lock.
    global _lock
    _lock = threading.Lock()


after_fork_in_child(_renewed)
