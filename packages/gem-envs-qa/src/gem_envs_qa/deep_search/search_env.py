"""The search that several tasks share: in any collection of articles, and in the world of DeepSearch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gem.arguments import choice, integer
from gem.counts import counted
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, illegal, legal, malformed
from gem_envs_qa.atlas.world import LARGEST
from gem_envs_qa.deep_search.form import SearchAction, SearchActionForm
from gem_envs_qa.deep_search.naming import EpisodeNames, pieces_of
from gem_envs_qa.deep_search.searched_world import SearchedWorld, searched_world

if TYPE_CHECKING:
    from gem_tools.search import LocalIndex, SearchHit

__all__ = ["NAMES", "SMALLEST", "SearchTaskEnv", "WorldSearchEnv"]

SMALLEST = 10_000
NAMES = ("episode", "world")

_KEY_BITS = 64
_LONGEST_QUERY = 300
_PUNCTUATION = "\"'.,;:!?()[]“”‘’"


class SearchTaskEnv(TextEnv[SearchAction], ABC):
    """A task about a collection of articles; each turn is a search, a look at further results, or the last word.

    A subclass writes ``_engine``, ``_graded`` and ``_instructions``.

    Args:
        topk: articles in an answer of the search engine, 1 … 20.
        max_turns: turns that the instructions announce.
    """

    form: SearchActionForm
    saved = StateFields(_query=str, _page=int)
    request = ""
    _query: str
    """The words of the last search."""
    _page: int
    """The number of times that further results of it were shown."""

    def __init__(self, topk: int, max_turns: int) -> None:
        self.topk = integer("topk", topk, minimum=1, maximum=20)
        super().__init__(max_turns=integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))

    @property
    @abstractmethod
    def _engine(self) -> LocalIndex:
        """The search engine."""

    @abstractmethod
    def _graded(self, move: SearchAction) -> MoveResult:
        """Return the result of the last word."""

    def _in_the_engine(self, terms: Sequence[str]) -> Sequence[str]:
        """Return terms of a query as the engine knows them."""
        return terms

    def _shown(self, hit: SearchHit) -> str:
        """Return an article in one line."""
        return f"[{hit.id}] {hit.title}: {hit.text}" if hit.text else f"[{hit.id}] {hit.title}"

    def _begin(self) -> None:
        self._query, self._page = "", 0

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("_page", self._page, minimum=0)

    def _how_to_search(self) -> str:
        return (
            f"<search>words</search>: the search engine shows up to {self.topk} articles, the best first\n"
            "<more/>: the next ones for the same words\n"
        )

    def _play(self, move: SearchAction) -> MoveResult:
        if move.query is None:
            return self._graded(move)
        if len(move.query) > _LONGEST_QUERY:
            return illegal(f"A query has at most {_LONGEST_QUERY} characters.")
        if move.query:
            self._query, self._page = "", 0
            terms = self._engine.terms(move.query, function_words=False)
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
        engine, missing = self._engine, []
        for word in dict.fromkeys(self._query.split()):
            terms = engine.terms(word, function_words=False)
            if terms and not any(map(engine.documents_with, self._in_the_engine(terms))):
                missing.append(f'"{word.strip(_PUNCTUATION)}"')
        if len(missing) > 1:
            return f"No article has any of the words {', '.join(missing[:-1])} and {missing[-1]}."
        return f"No article has the word {missing[0]}." if missing else ""

    def _found(self, count: int) -> list[SearchHit]:
        """Return the best articles for the last search, in the names of the world."""
        engine = self._engine
        return engine.search_terms(self._in_the_engine(engine.terms(self._query, function_words=False)), count)

    def _malformed(self) -> MoveResult:
        tag, verb = self.form.final, self.form.verb
        return malformed(f"Search with <search>words</search>, or {verb} with <{tag}>…</{tag}>.", 0.0, ends=False)


class WorldSearchEnv(SearchTaskEnv, ABC):
    """A task about a generated world.

    A subclass writes ``_open``, which draws the task of a key, ``_graded`` and ``_instructions``.

    Args:
        names: ``"episode"``: the invented words of the world and the numbers of its articles change places at each
            reset; ``"world"``: everything keeps its name, so that facts can be remembered from one episode to the next.
        world_seed: determines the world and all its names. Environments share a world.
        size: number of articles, 10,000 … 200,000.
        topk: articles in an answer of the search engine, 1 … 20.
        max_turns: turns that the instructions announce.
    """

    saved = SearchTaskEnv.saved | StateFields(_key=int)
    _key: int

    def __init__(self, names: str, world_seed: int, size: int, topk: int, max_turns: int) -> None:
        self.names = choice("names", names, NAMES)
        integer("world_seed", world_seed, minimum=0, maximum=(1 << 64) - 1)
        integer("size", size, minimum=SMALLEST, maximum=LARGEST)
        self._of_world = world_seed, size
        self._renaming: EpisodeNames | None = None
        super().__init__(topk, max_turns)

    @abstractmethod
    def _open(self, key: int) -> None:
        """Draw the task of a key, and call :meth:`_rename`."""

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

    def _numbered(self, article: str) -> str:
        """Return the number that an article has in the episode."""
        return self._names.number(article, len(self._world.corpus)) if self.names == "episode" else article

    def _rename(self, key: int) -> None:
        """Give the names of a key to the world."""
        self._key, self._renaming = key, None

    @property
    def _engine(self) -> LocalIndex:
        return self._world.engine

    def _begin(self) -> None:
        super()._begin()
        self._open(self.rng.getrandbits(_KEY_BITS))

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self._open(integer("_key", self._key, minimum=0, maximum=(1 << _KEY_BITS) - 1))

    def _shown(self, hit: SearchHit) -> str:
        """Return an article in one line, which the environments of a world have in pieces."""
        lines = self._world.lines
        pieces = lines.get(hit.id)
        if pieces is None:
            pieces = lines[hit.id] = pieces_of(f"{hit.title}: {hit.text}")
        told = self._names.joined(pieces) if self.names == "episode" else "".join(pieces)
        return f"[{self._numbered(hit.id)}] {told}"

    def _in_the_engine(self, terms: Sequence[str]) -> Sequence[str]:
        """Return terms of a query in the names of the world."""
        return self._names.terms_of_the_world(terms) if self.names == "episode" else terms
