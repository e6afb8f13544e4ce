r"""A site on a screen: a picture to look at, a pointer and a keyboard; no numbered elements and no text of the page."""

from __future__ import annotations

import re
from typing import Any, ClassVar, NamedTuple

from gem.action_forms import BoxedPattern, LenientForm
from gem.arguments import integer
from gem.core import Info, Observation
from gem.counts import counted
from gem.errors import ArgumentError
from gem.phases import EpisodePhase
from gem.registry import make
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, failure, illegal, legal, malformed, success
from gem_envs_web.screen.layout import HEIGHT, STEP, WIDTH, PlacedThing, drawn, length, met, placed
from gem_envs_web.screen.things import things_of_shop, things_of_site
from gem_envs_web.shop.shopping import ShoppingEnv
from gem_envs_web.sites.site_env import SiteEnv
from gem_questions.pictures.png import picture_part

__all__ = ["ScreenSiteEnv"]

_SEED_BITS = 32
_LONGEST_TEXT = 200
_BACK = ("< prev", "back to search", "back")
"""What going back clicks, the first that the page has."""
_CHANGE = "change page "
"""How the links of a form's review begin, which lead back to its pages; going back clicks the last."""
_NOTHING = {
    "You click": "You click, but nothing happens.",
    "You type": "You type, but nothing changes.",
    "You scroll down": "You scroll down, but the page ends here.",
    "You scroll up": "You scroll up, but the page begins here.",
    "You go back": "This is the first page: there is none to go back to.",
}
"""What is said of an action that changes nothing on the screen."""


class _Shown(NamedTuple):
    """What an action can change on the screen."""

    page: object
    """Which page it is."""
    held: object
    """What is chosen, checked and typed on the page."""
    cursor: str
    scroll: int


class ScreenSiteEnv(TextEnv[re.Match[str]]):
    r"""The shop or a form by screenshot and pointer, with the state and the reward of the text environment.

    Each observation but the last is a picture of the screen and a text that says nothing of the page. Actions are
    ``\boxed{click 120 84}``, ``\boxed{type words}``, ``\boxed{scroll down}``, ``\boxed{scroll up}`` and
    ``\boxed{back}``; each takes a turn. What is typed replaces the content of the field with the cursor.

    Args:
        world: the id of a text environment of a shop or a form, whose task, pages and reward this is.
        max_turns: turns that the instructions announce.
    """

    form = LenientForm(
        BoxedPattern(
            r"\s*(?:click\s+(\d{1,4})[,\s]+(\d{1,4})\s*|"
            rf"type ([^{{}}\\\r\n]{{1,{_LONGEST_TEXT}}})|scroll\s+(up|down)\s*|(back)\s*)",
            re.IGNORECASE,
        ),
        free_text=True,
    )
    saved = StateFields(_key=int, _scroll=int, _cursor=str, _query=str, _told=dict[str, Any])
    request = "What do you do?"
    closings: ClassVar[dict[str, str]] = {
        **TextEnv.closings,
        "success": "The task is fulfilled.",
        "failure": "The task is not fulfilled.",
        "turns": "No turns are left.",
    }
    _key: int
    """The seed of the world's episode."""
    _scroll: int
    _cursor: str
    """The field with the cursor; "" for none."""
    _query: str
    """What was typed into the search box of the shop."""
    _told: dict[str, Any]
    """The state of the world."""

    def __init__(self, world: str = "web:Shop-v0", max_turns: int = 80) -> None:
        super().__init__(integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))
        made = make(world, max_turns=MAX_TURNS)
        if not isinstance(made, (ShoppingEnv, SiteEnv)) or (isinstance(made, SiteEnv) and "search" in made.form.verbs):
            raise ArgumentError(f"world must be a shop or a form of this package, got {world!r:.80}")
        self.world = made
        self._info: Info = {}

    def reset(  # type: ignore[override]  # content parts in place of a text
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin a new task; see :meth:`gem.TextEnv.reset`."""
        text, info = super().reset(seed, options)
        return self._parts(text), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:  # type: ignore[override]
        """Play the move in ``action``; the ``info`` of a purchase holds the parts of its reward, as in the shop."""
        self._info = {}
        text, reward, terminated, truncated, info = super().step(action)
        return self._parts(text), reward, terminated, truncated, {**self._info, **info}

    @property
    def things(self) -> list[PlacedThing]:
        """What is on the page, and where; a reference to act by, which no agent sees."""
        if isinstance(self.world, ShoppingEnv):
            return placed(list(things_of_shop(self.world.page, self._query)))
        return placed(list(things_of_site(self.world.page, self.world.typed, self.world.brief())))

    def in_words(self) -> str:
        """Return all that is written on the page, for those who count tasks; no agent sees it."""
        return "\n".join(one.thing.text for one in self.things)

    @property
    def scroll(self) -> int:
        """Pixels of the page above the screen."""
        return self._scroll

    @property
    def cursor(self) -> str:
        """The field with the cursor; "" for none."""
        return self._cursor

    def _parts(self, text: str) -> Observation:
        told = {"type": "text", "text": text}
        if self._phase is EpisodePhase.OVER:
            return [told]
        return [picture_part(drawn(self.things, self._scroll, self._cursor).png()), told]

    def _begin(self) -> None:
        self._key = self.rng.getrandbits(_SEED_BITS)
        self.world.reset(seed=self._key)
        self._scroll, self._cursor, self._query = 0, "", ""
        self._told = self.world.get_state()

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self.world.set_state(self._told)
        if not 0 <= self._scroll <= self._lowest():
            raise ArgumentError(f"_scroll must lie on the page, got {self._scroll}")

    def _instructions(self) -> str:
        return (
            f"The picture shows a screen of {WIDTH} by {HEIGHT} pixels: a page of a website, and on it what you are to "
            "do there. You have a pointer and a keyboard: \\boxed{click 120 84} clicks 120 pixels from the left and 84 "
            "from the top, \\boxed{type words} writes words into the field with the cursor, in place of what it holds, "
            "\\boxed{scroll down} and \\boxed{scroll up} move the page, \\boxed{back} goes to the page before. The bar "
            "at the right shows which part of the page you see. One of these a turn; you have "
            f"{counted(self.max_turns, 'turn')}."
        )

    def _play(self, move: re.Match[str]) -> MoveResult:
        x, y, typed, turned, back = move.groups()
        before = self._shown()
        if typed is not None:
            if not self._cursor:
                return legal("You type, but no field has the cursor.")
            # Brackets would end the action in words that the site gets, and begin another.
            self._type(typed.replace("[", " ").replace("]", " ").strip())
            return self._answer("You type", before)
        if turned is not None:
            turned = turned.lower()
            by = STEP if turned == "down" else -STEP
            self._scroll = min(max(self._scroll + by, 0), self._lowest())
            return self._answer(f"You scroll {turned}", before)
        if back is not None:
            return self._act(self._way_back(), "You go back", before)
        if int(x) >= WIDTH or int(y) >= HEIGHT:
            return illegal(f"There is no pixel {x} {y}: the screen has {WIDTH} by {HEIGHT}.")
        thing = met(self.things, int(x), int(y) + self._scroll)
        self._cursor = "" if thing is None else thing.field
        if thing is None:
            return self._answer("You click", before)
        return self._act(thing.action, "You click", before, sends=thing.kind == "button")

    def _type(self, text: str) -> None:
        if isinstance(self.world, ShoppingEnv):
            self._query = text
        else:
            self.world.step(f"type[{self._cursor}][{text}]")
            self._told = self.world.get_state()

    def _way_back(self) -> str:
        """Return the action on the site that leads to the page before; "" on the first page."""
        known = self.world.page.clickable()
        ways = [label for label in _BACK if label in known] or [label for label in known if label.startswith(_CHANGE)]
        return f"click[{ways[0] if ways[0] in _BACK else ways[-1]}]" if ways else ""

    def _act(self, action: str, deed: str, before: _Shown, *, sends: bool = False) -> MoveResult:
        """Act on the site, and show the top of the page that follows if it is another one."""
        if not action:
            return self._answer(deed, before)
        _, reward, terminated, _, info = self.world.step(action)
        self._told = self.world.get_state()
        if self._shown().page != before.page:
            self._scroll, self._cursor, self._query = 0, "", ""
        self._scroll = min(self._scroll, self._lowest())
        if not terminated:
            return self._answer(deed, before, sends=sends)
        self._info = {name: info[name] for name in ("reward_parts",) if name in info}
        told = f"{deed}, and that ends the task."
        return success(told, reward) if info["success"] else failure(told, reward)

    def _answer(self, deed: str, before: _Shown, *, sends: bool = False) -> MoveResult:
        """Say what an action has changed on the screen, or that it has changed nothing.

        Every action that ends no task is answered here, from the screens before and after it. The picture alone would
        not do: the top of each page of a form is the same letter, and what is to be corrected may stand below it.

        Args:
            deed: the beginning of the answer, the action in words.
            before: the screen before the action.
            sends: whether the action pressed a button.
        """
        after = self._shown()
        if after.page != before.page:
            return legal(f"{deed}, and another page comes.")
        if sends and isinstance(self.world, SiteEnv):
            return legal(f"{deed}, and the same page comes again: it was not accepted.")
        if deed == "You click":
            if after.cursor:
                return legal(f"{deed}, and a field has the cursor.")
            if after.held != before.held:
                return legal(f"{deed}, and a mark on the page changes.")
            if before.cursor:
                return legal(f"{deed}, and all that happens is that no field has the cursor any longer.")
        return legal(_NOTHING[deed] if after == before else f"{deed}.")

    def _shown(self) -> _Shown:
        if isinstance(self.world, ShoppingEnv):
            view = self.world.page.view
            return _Shown(view._replace(options=()), (view.options, self._query), self._cursor, self._scroll)
        return _Shown(self.world.page.title, dict(self.world.typed), self._cursor, self._scroll)

    def _lowest(self) -> int:
        return max(length(self.things) - HEIGHT, 0)

    def _malformed(self) -> MoveResult:
        return malformed(
            "No box holds an action: a click with two numbers, type with words, scroll with down or up, or back.",
            0.0,
            ends=False,
        )

    def _random_action(self) -> str:
        rng = self.action_rng
        drawn_action = rng.random()
        if drawn_action < 0.1:
            return f"\\boxed{{scroll {rng.choice(('up', 'down'))}}}"
        if drawn_action < 0.15:
            return "\\boxed{back}"
        if drawn_action < 0.3:
            return f"\\boxed{{type {rng.choice(('red', 'large', 'shoes', 'lamp', 'yes', '12'))}}}"
        return f"\\boxed{{click {rng.randrange(WIDTH)} {rng.randrange(HEIGHT)}}}"
