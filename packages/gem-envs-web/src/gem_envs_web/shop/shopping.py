"""Shopping as an environment: find a product that fits a wish, choose its options, and buy it.

The pages, the actions and the reward are WebShop's (Yao et al., 2022). The reward comes with the purchase, and every
other step earns 0.0. An action that does nothing on the page, or that is none, leaves the customer where it was and
costs a turn.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar

from gem.arguments import boolean, choice, integer
from gem.core import Info
from gem.counts import counted
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError
from gem.state_fields import StateFields
from gem.text_env import MoveResult, TextEnv, failure, illegal, legal, malformed, success
from gem_envs_web.shop.actions import ShopAction, ShopActionForm
from gem_envs_web.shop.html import html_of
from gem_envs_web.shop.listing import Assortment, NounTagger, ShopGoal
from gem_envs_web.shop.pages import BUY, ShopPage, ShopView, bought_page, page_of
from gem_envs_web.shop.reward import PurchaseReward, purchase_reward

__all__ = ["OBSERVATIONS", "ShoppingEnv"]

OBSERVATIONS = ("text", "text_rich", "html")
_NOTHING_FOUND = 'No product has any of these words, apart from words such as "the".'
"""The engine leaves function words out where there are others; most products have some of them."""
_LONGEST_QUERY = 1000


class ShoppingEnv(TextEnv[ShopAction], ABC):
    """A wish and a shop; ``search[…]`` and ``click[…]`` lead to the purchase.

    ``info`` of the last step has ``reward_parts`` after a purchase: ``total``, ``r_type``, ``attributes``, ``options``
    and ``price``. ``success`` is true if the reward is 1.0.

    The reset option ``goal`` is the number of a goal, which is drawn otherwise.

    Args:
        shop: the products, the engine that finds them, and the goals.
        goals: the numbers of the goals, from which an episode draws.
        observation: ``"text"``, WebShop's texts separated by ``[SEP]``, ``"text_rich"``, with marked buttons, or
            ``"html"``.
        show_attributes: whether products have the page of their attributes, as WebShop's option ``show_attrs``.
        noun_tagger: the tagger of the reward: a function from a name to its nouns in lower case, or its entry point
            ``"module:function"``. None for the shop's own list of nouns.
        max_turns: turns that the instructions announce.
    """

    form = ShopActionForm()
    saved = StateFields(_number=int, _view=ShopView, _seen=set[str], _bought=float | None)
    request = "What do you do?"
    _view: ShopView
    _bought: float | None
    closings: ClassVar = {
        **TextEnv.closings,
        "success": "You have bought what was wanted.",
        "failure": "You have bought something else than what was wanted.",
        "turns": "No turns are left, and nothing was bought.",
    }

    def __init__(
        self,
        shop: Assortment,
        goals: range,
        observation: str,
        show_attributes: bool,
        noun_tagger: str | Callable[[str], Any] | None,
        max_turns: int,
    ) -> None:
        super().__init__(max_turns)
        self.shop = shop
        self._goals = goals
        self.observation = choice("observation", observation, OBSERVATIONS)
        self.show_attributes = boolean("show_attributes", show_attributes)
        self.nouns = _checked_tagger(noun_tagger) or shop.nouns

    @property
    def wish(self) -> ShopGoal:
        """The goal of the episode; a reference to compare with, which no agent sees."""
        return self._goal

    @property
    def page(self) -> ShopPage:
        """The page that the customer sees."""
        return self._page

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Do as :meth:`gem.TextEnv.step`; the ``info`` of a purchase holds the parts of its reward."""
        observation, reward, terminated, truncated, info = super().step(action)
        if self._bought is not None:
            info["reward_parts"] = self.score(self._view)._asdict()
        return observation, reward, terminated, truncated, info

    def _begin(self, goal: int | None = None) -> None:
        if goal is None:
            self._number = self.rng.choice(self._goals)
        else:
            self._number = integer("goal", goal, minimum=self._goals.start, maximum=self._goals.stop - 1)
        self._goal = self.shop.goal(self._number)
        self._view, self._seen, self._bought = ShopView(), set[str](), None
        self._arrive()

    def _instructions(self) -> str:
        return (
            "You are shopping on a website. Buy a product that fits the instruction: the right kind of product, with "
            "every attribute and option that is asked for, at a price within the limit.\n"
            "Actions: search[words] finds products, at most 50, on pages of ten. click[text] follows a link or a "
            "button or chooses an option, for example click[next >], click[b012345678] or click[features]; its text "
            "is what the page shows. click[buy now] buys the product with the options chosen until then, and ends the "
            "episode. Every wanted attribute, every wanted option and the price count alike.\n"
            f"You have {counted(self.max_turns, 'turn')}. An action that is not possible on the page changes nothing "
            "and costs its turn."
        )

    def _board(self) -> str:
        if self.observation == "html":
            return html_of(self._page)
        return self._page.text() if self.observation == "text" else self._page.rich_text(self._seen)

    def _malformed(self) -> MoveResult:
        return malformed("No search[…] or click[…] was found.", 0.0, ends=False)

    def _play(self, action: ShopAction) -> MoveResult:
        if action.searches:
            self._go(ShopView("results", action.argument[:_LONGEST_QUERY]))
            found = self.shop.search(self._view.query)  # kept from when the page was made
            return legal("You search." if found else f"You search. {_NOTHING_FOUND}")
        element = self._page.clickable().get(action.argument)
        if element is None or element.leads_to is None:
            return illegal("That cannot be clicked here.")
        if element.text == BUY and element.kind == "button":
            return self._buy(element.leads_to)
        if element.kind == "product":
            self._seen = {*self._seen, element.text}
        self._go(element.leads_to)
        return legal(f"You {'choose' if element.kind == 'option' else 'click'} {element.text}.")

    def _buy(self, view: ShopView) -> MoveResult:
        reward = self.score(view).total
        self._bought = reward
        self._go(view)
        return success("You buy it.", reward) if reward == 1.0 else failure("You buy it.", reward)

    def score(self, view: ShopView) -> PurchaseReward:
        """Return what buying the product with the options of a view is worth."""
        return purchase_reward(self.shop.product(view.asin), self._goal, dict(view.options), self.nouns)

    def _go(self, view: ShopView) -> None:
        self._view = view
        self._arrive()

    def _arrive(self) -> None:
        self._page: ShopPage = (
            page_of(self.shop, self._view, self._goal.instruction, self.show_attributes)
            if self._bought is None
            else bought_page(self._view, self._bought)
        )

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        if (self._view.page == "done") is (self._bought is None):
            raise ArgumentError("an episode ends with a purchase, and only then has a reward")
        self._goal = self.shop.goal(self._number)
        self._arrive()

    def _random_action(self) -> str:
        rng = self.action_rng
        clickable = [*self._page.clickable()]
        if not clickable or rng.random() < 1 / (1 + len(clickable)):
            words = self._goal.instruction.replace("[", " ").replace("]", " ").split()
            return f"search[{' '.join(rng.sample(words, min(len(words), rng.randint(1, 3))))}]"
        return f"click[{rng.choice(clickable)}]"


def _checked_tagger(tagger: object) -> NounTagger | None:
    if tagger is None:
        return None
    if not isinstance(tagger, str) and not callable(tagger):
        raise ArgumentTypeError(
            f"noun_tagger must be a function or its entry point 'module:function', got {type(tagger).__name__}"
        )
    found: NounTagger = load(tagger)
    if not callable(found):
        raise ArgumentTypeError(f"noun_tagger {tagger!r} is not a function")
    return found
