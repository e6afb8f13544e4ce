"""What environments with a browser have in common: :class:`WindowEnv`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gem.arguments import choice, integer
from gem.core import Info
from gem.errors import NotSupportedError
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, fault, illegal, legal, malformed
from gem_envs_web.browser.chromium import ChromiumWindow, PageNode
from gem_envs_web.sites.actions import PageAction, PageActionForm

__all__ = ["WINDOW_OBSERVATIONS", "WindowEnv"]

WINDOW_OBSERVATIONS = ("text", "html", "axtree", "screenshot")
_BACK = "back"


class WindowEnv(TextEnv[PageAction], ABC):
    """An agent acts on the numbered elements of the page in a headless Chromium of this environment.

    The browser starts with the first reset and ends with ``close``. Its state cannot be saved.

    Args:
        observation: ``"text"``, the visible text and a list of elements; ``"html"``, with the numbers as ``data-ref``;
            ``"axtree"``, the accessibility tree with the numbers; ``"screenshot"``, content parts: the list of elements
            and a picture (PNG).
        max_turns: turns that the instructions announce.
    """

    form: PageActionForm
    request = "What do you do?"
    window_size = (1000, 800)
    every_element = False
    """Whether elements count that are no links, buttons or fields."""
    _window: ChromiumWindow | None = None

    def __init__(self, observation: str, max_turns: int) -> None:
        super().__init__(integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))
        self.observation = choice("observation", observation, WINDOW_OBSERVATIONS)
        self._nodes: list[PageNode] = []

    @property
    def window(self) -> ChromiumWindow:
        """The browser, which starts at the first use.

        Raises:
            NotSupportedError: if Selenium, Chromium or its driver is not installed.
        """
        if self._window is None:
            self._window = ChromiumWindow(*self.window_size)
        return self._window

    @property
    def elements(self) -> list[PageNode]:
        """The elements of the page that can be acted on."""
        return self._nodes

    def close(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            window.close()
        super().close()

    def reset(  # content parts in place of a text, if there is a picture
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        observation, info = super().reset(seed, options)
        return self._shown(observation), info

    def step(self, action: str) -> tuple[Any, float, bool, bool, Info]:
        observation, *rest = super().step(action)
        return (self._shown(observation), *rest)

    def get_state(self) -> dict[str, Any]:
        raise NotSupportedError("the state of a browser cannot be saved")

    def set_state(self, state: Mapping[str, Any]) -> None:
        raise NotSupportedError("the state of a browser cannot be restored")

    def _shown(self, text: str) -> Any:
        if self.observation != "screenshot":
            return text
        url = f"data:image/png;base64,{self.window.picture()}"
        return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]

    def _look(self) -> None:
        """Number the elements of the page anew."""
        self._nodes = self.window.nodes(self.every_element)

    def _board(self) -> str:
        elements = "\n".join(node.line() for node in self._nodes)
        if self.observation == "html":
            return self.window.html()
        if self.observation == "axtree":
            return self.window.accessibility_tree()
        text = f"Page: {self.window.title}\n"
        if self.observation == "text":
            text += f"{self.window.text().strip()}\n"
        return f"{text}Elements:\n{elements}"

    def _malformed(self) -> MoveResult:
        verbs = ", ".join(f"{verb}[…]" for verb in self.form.verbs)
        return malformed(f"No action was found; the actions are {verbs}.", 0.0, ends=False)

    def _play(self, action: PageAction) -> MoveResult:
        browser_error = import_module("selenium.common.exceptions").WebDriverException

        try:
            done = self._act(action)
            return self._after(action, done[0]) or done
        except browser_error as error:
            return fault("The browser failed.", f"{type(error).__name__}: {error.msg}")

    def _act(self, action: PageAction) -> MoveResult:
        """Carry an action out on the page."""
        if action.verb == "answer":
            return legal("You answer.")
        if action.verb == "click" and action.target == _BACK:
            self.window.back()
            return legal("You go back.")
        node = next((node for node in self._nodes if node.ref == action.target.lstrip("#")), None)
        if node is None:
            return illegal("There is no element with this number on the page.")
        if action.verb == "click":
            self._click(node)
            return legal(f"You click {node.role} {node.ref}.")
        if action.verb == "type":
            if node.role != "field":
                return illegal("This element is no field.")
            self.window.type(node.ref, action.value)
            return legal(f"You type into {node.role} {node.ref}.")
        if action.value not in node.options:
            return illegal("This element does not offer that.")
        self.window.select(node.ref, action.value)
        return legal(f"You choose {action.value}.")

    def _click(self, node: PageNode) -> None:
        self.window.follow(node.ref)

    @abstractmethod
    def _after(self, action: PageAction, message: str) -> MoveResult | None:
        """Look at the page after an action; return the result that ends the episode, if it has ended.

        Args:
            action: the action.
            message: what it did.
        """

    def _random_action(self) -> str:
        rng = self.action_rng
        if not self._nodes:
            return f"click[{_BACK}]"
        node = rng.choice(self._nodes)
        if node.role == "field":
            return f"type[{node.ref}][{rng.choice(self._random_words())}]"
        if node.options and rng.random() < 0.7:
            return f"select[{node.ref}][{rng.choice(node.options)}]"
        return f"click[{node.ref}]"

    def _random_words(self) -> list[str]:
        """Return texts that a random policy types."""
        return ["yes"]
