r"""WikiGame: go from one page of an encyclopedia to another by following links.

Rewards: 1.0 for the target page, -0.05 for any other step or way back that is allowed, -0.2 for a page that is not
linked, for a way back that is not allowed, and for an action without a title in a box. None of these ends the game,
and every one of them costs a turn. A page without links is a dead end: without a way back it ends the game for 0.0;
otherwise the agent stays where it was, for -0.1 and two turns.

In the original, the last turn always pays 0.0, running out of turns does not always terminate, and the ``eidetic``
game remembers pages of earlier episodes. Its pages come only from a live wiki; here an encyclopedia of about
500 pages comes with the package, with start and target 2 to 6 links apart, and live wikis are an option
(:mod:`gem_envs_games.wiki_backends`). When a live wiki fails in mid-episode, the episode is truncated and
``info["error"]`` gives the reason; a reset raises :class:`gem_envs_games.wiki_backends.BackendError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gem.action_forms import BoxedText
from gem.arguments import choice, integer, nearest, string
from gem.core import Info
from gem.counts import counted
from gem.errors import ArgumentError, ArgumentTypeError
from gem.policies import Policy
from gem.text_env import MAX_TURNS, MoveResult, failure, fault, illegal, legal, malformed, success
from gem_envs_games.game import Game
from gem_envs_games.wiki_backends import BackendError, Kiwix, LiveWiki, MediaWiki
from gem_envs_games.wiki_graph import LONGEST_TITLE, Page, Wiki, encyclopedia, title_key

__all__ = ["WikiGameEnv", "WikiGamePolicy"]

_BACK = "<PREV_PAGE>"
_TARGET_REWARD, _STEP_REWARD, _DEAD_END_REWARD, _INVALID_REWARD = 1.0, -0.05, -0.1, -0.2
_LONGEST_SUMMARY = 10_000
_LONGEST_ECHO = 100
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+")

_BACKENDS: dict[str, type[LiveWiki]] = {"mw": MediaWiki, "kiwix": Kiwix}
_UNITS = ("characters", "words", "sentences")
_WAYS_BACK = {
    "noregrets": "There is no way back to a page that you have left, unless a link leads there.",
    "oneback": f"\\boxed{{{_BACK}}} takes you back to the previous page, but not twice in a row.",
    "freenav": f"\\boxed{{{_BACK}}} takes you back to the previous page, as often as you like.",
    "eidetic": "You can also go to any page that you have been to, or whose title was among the links you have seen.",
}
_DEAD_ENDS = {
    "noregrets": "A page without links is a dead end and loses the game.",
    "oneback": "A page without links is a dead end: you stay where you were, and lose another turn.",
}
_DEAD_ENDS["freenav"] = _DEAD_ENDS["eidetic"] = _DEAD_ENDS["oneback"]


class WikiGameEnv(Game[str]):
    r"""Follow a link with ``\boxed{Title}``.

    Args:
        max_turns: turns that the instructions announce.
        backend: ``"bundled"``, the encyclopedia of this package; ``"mw"``, a MediaWiki site; ``"kiwix"``, a ZIM file
            on a kiwix-serve. The latter two need the extra ``wiki``.
        trawler_kwargs: arguments of a live backend, by name; see :mod:`gem_envs_games.wiki_backends`.
        page_summary_length: length of the text shown of a page, a number (1 … 10,000) and a unit: ``"characters"``,
            ``"words"`` or ``"sentences"``.
        variant: the allowed ways back: ``"noregrets"``, none; ``"oneback"``, one page, not twice in a row;
            ``"freenav"``, like the back button of a browser; ``"eidetic"``, to any title seen in this episode.
        lenient: also take LaTeX text; see :class:`gem_envs_games.game.Game`.

    ``reset`` has the options ``start`` and ``target``, titles of two pages with links. By default both are drawn.
    """

    form = BoxedText()
    request = "Which page is next?"
    closings: ClassVar[Mapping[str, str]] = {**Game.closings, "success": "You have reached the target page."}
    form_note = ""  # the instructions state all costs together
    _free_text = True

    def __init__(
        self,
        max_turns: int = 20,
        backend: str = "bundled",
        trawler_kwargs: Mapping[str, Any] | None = None,
        page_summary_length: Sequence[Any] = (100, "characters"),
        variant: str = "noregrets",
        lenient: bool = False,
    ) -> None:
        self._set_lenient(lenient)
        self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.variant = choice("variant", variant, _WAYS_BACK)
        self.page_summary_length = _checked_length(page_summary_length)
        self._wiki: Wiki
        if choice("backend", backend, ("bundled", *_BACKENDS)) != "bundled":
            self._wiki = _BACKENDS[backend].from_kwargs({} if trawler_kwargs is None else trawler_kwargs)
        elif trawler_kwargs is not None and trawler_kwargs != {}:
            raise ArgumentError("trawler_kwargs belong to the backends 'mw' and 'kiwix', not to 'bundled'")
        else:
            self._wiki = encyclopedia()

    def close(self) -> None:
        self._wiki.close()

    def _begin(self, start: str | None = None, target: str | None = None) -> None:
        if start is None and target is None:
            first, last = self._wiki.draw_pair(self.rng, self.max_turns)
        else:
            first, last = self._existing(string("start", start)), self._existing(string("target", target))
            if first.title == last.title:
                raise ArgumentError(f"start and target must be two pages, got {first.title!r} twice")
        self._target = last
        self._past: tuple[Page, ...] = ()
        self._seen: dict[str, str] = {}  # title by key
        self._arrive(first)

    def _existing(self, title: str) -> Page:
        page = self._wiki.page(title)
        if page.links:
            return page
        hint = nearest(title, encyclopedia().titles) if self._wiki is encyclopedia() else None
        raise ArgumentError(
            f"there is no page {title!r} with links" + (f"; did you mean {hint!r}?" if hint is not None else "")
        )

    def _arrive(self, page: Page) -> None:
        self._page = page
        self._links = {title_key(link): link for link in reversed(page.links)}
        if self.variant == "eidetic":
            self._seen[title_key(page.title)] = page.title
            self._seen.update(self._links)

    def _instructions(self) -> str:
        target = self._target
        return (
            f"You are playing the Wiki Game. Go from the page {self._page.title!r} to the page {target.title!r} of an "
            f"encyclopedia by following links, one a turn. You have {counted(self.max_turns, 'turn')}.\n"
            f"About the target page: {self._summary(target)}\n"
            "Every turn you see the page you are on and the titles that it links to. Put the exact title of one of "
            f"them in \\boxed{{}}, for example \\boxed{{{self._page.links[0]}}}.\n"
            f"{_WAYS_BACK[self.variant]} {_DEAD_ENDS[self.variant]}\n"
            "A step costs a little, a title that you cannot go to, or none in a box, "
            "costs more."
        )

    def _board(self) -> str:
        page = self._page
        lines = [f"Target page: {self._target.title}", f"Current page: {page.title}"]
        if summary := self._summary(page):
            lines.append(summary)
        lines.append("Links:")
        lines += [f"- {link}" for link in page.links]
        return "\n".join(lines)

    def _summary(self, page: Page) -> str:
        return summarize(page.text, *self.page_summary_length)

    def _malformed(self) -> MoveResult:
        return malformed("No title in \\boxed{} was found.", _INVALID_REWARD, ends=False)

    def _play(self, title: str) -> MoveResult:
        try:
            return self._go(title)
        except BackendError as error:
            return fault("The wiki does not answer.", str(error))

    def _go(self, title: str) -> MoveResult:
        if title == _BACK:
            return self._go_back()
        key = title_key(title) if len(title) <= LONGEST_TITLE else ""
        link = self._links.get(key) or self._seen.get(key)
        if link is None:
            return illegal(self._unknown(title, key), _INVALID_REWARD)
        if key == title_key(self._target.title):
            self._page = self._target
            return success(f"You are on the page {self._target.title!r}.", _TARGET_REWARD)
        page = self._wiki.page(link)
        if title_key(page.title) == title_key(self._target.title):
            self._page = self._target
            return success(f"The link leads to the page {page.title!r}.", _TARGET_REWARD)
        if page.links:
            return self._go_to(page)
        if self.variant == "noregrets":
            self._page = page
            return failure(f"The page {link!r} is a dead end.")
        self._turn = min(self._turn + 1, self.max_turns)
        return legal(f"The page {link!r} is a dead end, so you stay where you were.", _DEAD_END_REWARD)

    def _go_to(self, page: Page) -> MoveResult:
        if self.variant == "freenav":
            self._past = (*self._past, self._page)
        elif self.variant == "oneback":
            self._past = (self._page,)  # only one page, so there is no second way back in a row
        self._arrive(page)
        return legal(f"You are on the page {page.title!r}.", _STEP_REWARD)

    def _go_back(self) -> MoveResult:
        if self.variant not in ("oneback", "freenav"):
            return illegal("There is no way back.", _INVALID_REWARD)
        if not self._past:
            return illegal("There is no page to go back to now.", _INVALID_REWARD)
        *past, page = self._past
        self._past = tuple(past)
        self._arrive(page)
        return legal(f"You are back on the page {page.title!r}.", _STEP_REWARD)

    def _unknown(self, title: str, key: str) -> str:
        shown = f"the title {title!r}" if len(title) <= _LONGEST_ECHO else "this title"
        similar = next((link for link in self._page.links if key and key in title_key(link)), None)
        advice = f" Did you mean {similar!r}?" if similar else ""
        return f"There is no link with {shown}.{advice}"

    def _random_move(self) -> str:
        return self.action_rng.choice(self._page.links or (self._target.title,))

    def _save(self) -> dict[str, Any]:
        return {
            "page": _as_json(self._page),
            "target": _as_json(self._target),
            "past": [_as_json(page) for page in self._past],
            "seen": list(self._seen.values()),
        }

    def _load(self, episode: dict[str, Any]) -> None:
        page, target, *past = (self._checked(p) for p in (episode["page"], episode["target"], *episode["past"]))
        if len(past) > {"oneback": 1, "freenav": self.max_turns}.get(self.variant, 0):
            raise ValueError(f"a history of {len(past)} pages is not possible")
        if episode["seen"] and self.variant != "eidetic":
            raise ValueError("only eidetic games remember titles")
        self._target, self._past = target, tuple(past)
        self._seen = {title_key(title): title for title in map(_checked_title, episode["seen"])}
        self._arrive(page)

    def _checked(self, fields: Any) -> Page:
        """Undo :func:`_as_json`; raise an ordinary error for anything else."""
        title, text, links = fields
        page = Page(_checked_title(title), text, tuple(map(_checked_title, links)))
        if not isinstance(text, str) or not self._wiki.has(page):
            raise ValueError(f"not a page of this wiki: {title!r}")
        return page


class WikiGamePolicy(Policy[str, str]):
    """Follows a shortest way through the encyclopedia of this package; in a live wiki, takes new links."""

    _TARGET = re.compile(r"^Target page: (.+)$", re.MULTILINE)
    _CURRENT = re.compile(r"^Current page: (.+)$", re.MULTILINE)
    _LINK = re.compile(r"^- (.+)$", re.MULTILINE)

    def reset(self, observation: str, info: Info) -> None:
        self._taken: set[str] = set()

    def act(self, observation: str, info: Info) -> str:
        target, current = self._TARGET.findall(observation)[-1], self._CURRENT.findall(observation)[-1]
        links = self._LINK.findall(observation)
        link: str | None = target if target in links else encyclopedia().next_link(current, target)
        if link is None or link not in links:
            link = next((link for link in links if link not in self._taken), links[0])
        self._taken.add(link)
        return f"\\boxed{{{link}}}"


def summarize(text: str, length: int, unit: str) -> str:
    """Return the beginning of a text: a number of characters, words or sentences; ``…`` marks an omission."""
    if unit == "sentences":
        return " ".join(_END_OF_SENTENCE.split(text, maxsplit=length)[:length])
    if unit == "words":
        words = text.split(maxsplit=length)
        return text if len(words) <= length else f"{' '.join(words[:length])} …"
    return text if len(text) <= length else f"{text[:length].rstrip()}…"


def _checked_length(value: object) -> tuple[int, str]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentTypeError(
            "page_summary_length must be a number and a unit, such as (100, 'characters'), "
            f"got an object of type {type(value).__name__}"
        )
    number = integer("page_summary_length[0]", value[0], minimum=1, maximum=_LONGEST_SUMMARY)
    return number, choice("page_summary_length[1]", value[1], _UNITS)


def _as_json(page: Page) -> list[Any]:
    return [page.title, page.text, list(page.links)]


def _checked_title(title: Any) -> str:
    if not isinstance(title, str) or not 0 < len(title) <= LONGEST_TITLE:
        raise ValueError(f"not a title: {title!r:.80}")
    return title
