"""A generated site as a text environment: :class:`SiteEnv`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from gem.arguments import choice, integer
from gem.counts import counted
from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.text_env import MoveResult, TextEnv, failure, illegal, legal, malformed, success
from gem_envs_web.sites.actions import PageAction, PageActionForm, PageVerb
from gem_envs_web.sites.page import CHECKED, PageButton, PageField, PageLink, SitePage
from gem_envs_web.sites.site import Site, SiteChange

__all__ = ["SPLIT_NAMES", "TASK_BITS", "SiteEnv"]

TASK_BITS = 48
"""A task is a function of a number of so many bits."""
SPLIT_NAMES = ("train", "test")
_LONGEST_VALUE = 2000
_ACTIONS: dict[PageVerb, str] = {
    "click": "click[label] follows a link, presses a button, or checks and unchecks a box.",
    "type": "type[label][text] replaces the text of a field.",
    "select": "select[label][option] chooses one of the options of a field.",
    "search": "search[words] finds what contains all the words.",
    "answer": "answer[text] ends the task with your answer.",
}


class SiteEnv(TextEnv[PageAction], ABC):
    """A task on a generated site; only the end state of the site, or the answer, is paid.

    A field keeps what was typed into it until the agent leaves the page. An action that is not possible changes nothing
    and costs its turn.

    The reset option ``task`` is the number of a task, which is drawn otherwise.

    Args:
        split: ``"train"`` or ``"test"``; no task is in both.
        max_turns: turns that the instructions announce.
    """

    saved = StateFields(_number=int, _address=str, _typed=dict[str, str], _changes=list[SiteChange], _answer=str | None)
    request = "What do you do?"
    closings: ClassVar = {
        **TextEnv.closings,
        "success": "The task is fulfilled.",
        "failure": "The task is not fulfilled.",
        "turns": "No turns are left.",
    }
    form: PageActionForm
    site: Site

    def __init__(self, split: str, max_turns: int) -> None:
        super().__init__(max_turns)
        self.split = choice("split", split, SPLIT_NAMES)

    @property
    def task_number(self) -> int:
        """The number of the episode's task."""
        return self._number

    @property
    def page(self) -> SitePage:
        """The page that the agent sees."""
        return self._page

    @property
    def typed(self) -> Mapping[str, str]:
        """The values of the page's fields, with what was typed into them."""
        return self._typed

    @abstractmethod
    def brief(self) -> str:
        """Return the task in words, without the actions."""

    @abstractmethod
    def _site_of(self, number: int) -> Site:
        """Return the site of a task, as it is before any action."""

    @abstractmethod
    def _words(self) -> list[str]:
        """Return texts that a random policy types."""

    def _begin(self, task: int | None = None) -> None:
        if task is None:
            self._number = self.rng.getrandbits(TASK_BITS)
        else:
            self._number = integer("task", task, minimum=0, maximum=(1 << TASK_BITS) - 1)
        self.site = self._site_of(self._number)
        self._changes = self.site.changes
        self._answer: str | None = None
        self._go(self.site.start)

    def _instructions(self) -> str:
        actions = " ".join(_ACTIONS[verb] for verb in self.form.verbs)
        return (
            f"{self.brief()}\n\nActions: {actions} Labels are what the page shows. "
            f"You have {counted(self.max_turns, 'turn')}. An action that is not possible on the page "
            "changes nothing and costs its turn."
        )

    def _board(self) -> str:
        return self._page.text(self._typed)

    def _malformed(self) -> MoveResult:
        verbs = ", ".join(f"{verb}[…]" for verb in self.form.verbs)
        return malformed(f"No action was found; the actions are {verbs}.", 0.0, ends=False)

    def _play(self, action: PageAction) -> MoveResult:
        if action.verb == "answer":
            self._answer = action.target
            return _ended("You answer.", self.site.answered(action.target))
        if action.verb == "search":
            if not self._page.search:
                return illegal("There is no search on this page.")
            self._go(self.site.search_address(action.target[:_LONGEST_VALUE]))
            return legal("You search.")
        if action.verb == "click":
            return self._click(action.target)
        return self._fill(action)

    def _click(self, label: str) -> MoveResult:
        piece = self._page.clickable().get(label.casefold())
        if piece is None:
            return illegal("There is nothing with this label to click on this page.")
        if isinstance(piece, PageField):
            self._typed[piece.name] = "" if self._typed[piece.name] else CHECKED
            return legal(f'The box "{piece.label}" is {"checked" if self._typed[piece.name] else "not checked"} now.')
        if isinstance(piece, PageLink):
            self._go(piece.address)
            return legal(_sentence(f"You click {piece.label}"))
        return self._press(piece)

    def _press(self, button: PageButton) -> MoveResult:
        self._go(self.site.send(self._address, button.command, self._typed))
        reward = self.site.result()
        message = _sentence(f"You press {button.label}")
        return legal(message) if reward is None else _ended(message, reward)

    def _fill(self, action: PageAction) -> MoveResult:
        field = self._page.field_called(action.target)
        if field is None:
            return illegal("There is no field with this label on this page.")
        if field.kind == "checkbox":
            return illegal("A box is checked with click[…].")
        if action.verb == "type":
            if field.options:
                return illegal(f"{field.label} offers a choice: select one of its options.")
            self._typed[field.name] = action.value[:_LONGEST_VALUE]
            return legal(_sentence(f"You type into {field.label}"))
        wanted = action.value.casefold()
        chosen = next((option for option in field.options if option.casefold() == wanted), None)
        if chosen is None:
            return illegal(f"{field.label} does not offer that." if field.options else f"Type into {field.label}.")
        self._typed[field.name] = chosen
        return legal(f"You choose {chosen}.")

    def _go(self, address: str) -> None:
        self._address = address
        self._page = self.site.page(address)
        self._typed = {name: field.value for name, field in self._page.fields().items()}

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("task", self._number, minimum=0, maximum=(1 << TASK_BITS) - 1)
        self.site = self._site_of(self._number)
        typed, changes = self._typed, self._changes
        try:
            for change in changes:
                self.site.send(*change)
            self._go(self._address)
        except LookupError as error:
            raise ArgumentError(f"the site has no such page: {error}") from error
        if typed.keys() != self._typed.keys() or not all(
            field.accepts(typed[name]) for name, field in self._page.fields().items()
        ):
            raise ArgumentError("the typed values do not fit the fields of the page")
        self._typed, self._changes = typed, self.site.changes

    def _random_action(self) -> str:
        rng, page = self.action_rng, self._page
        fields = [field for field in page.fields().values() if field.kind != "checkbox"]
        if fields and rng.random() < 0.6:
            field = rng.choice(fields)
            if field.options:
                return f"select[{field.label}][{rng.choice(field.options)}]"
            return f"type[{field.label}][{rng.choice(self._words())}]"
        if page.search and rng.random() < 0.1:
            return f"search[{rng.choice(self._words())}]"
        if "answer" in self.form.verbs and rng.random() < 0.1:
            return f"answer[{rng.choice(self._words())}]"
        return f"click[{rng.choice([*page.clickable()] or ['back'])}]"


def _sentence(words: str) -> str:
    """Return the words with a full stop, unless the label at their end has its own mark."""
    return words if words.endswith((".", "?", "!")) else f"{words}."


def _ended(message: str, reward: float) -> MoveResult:
    return success(message, reward) if reward == 1.0 else failure(message, reward)
