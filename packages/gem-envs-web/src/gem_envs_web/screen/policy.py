"""The reference policy of sites on a screen: the text policy of the site, carried out by the layout's rectangles."""

from __future__ import annotations

import re

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_web.form.env import FormEnv
from gem_envs_web.form.policy import FormPolicy
from gem_envs_web.screen.env import ScreenSiteEnv
from gem_envs_web.screen.layout import HEIGHT, PlacedThing
from gem_envs_web.screen.things import QUERY
from gem_envs_web.shop.policy import ShopPolicy
from gem_envs_web.shop.shopping import ShoppingEnv

__all__ = ["ScreenPolicy"]

_TYPED = re.compile(r"(?:search|type\[([^\[\]]*)\])\[(.*)\]")


class ScreenPolicy(Policy[Observation, str]):
    """Does on the screen what the policy of the text environment does in words, which it reads from the environment.

    Args:
        env: the environment that it plays.
        careful: whether it confirms what products are, and heeds corrections in letters; see the text policies.
    """

    def __init__(self, env: ScreenSiteEnv, careful: bool = True) -> None:
        self._env, self._careful = env, careful

    def reset(self, observation: Observation, info: Info) -> None:
        world = self._env.world
        self._policy: Policy[str, str]
        if isinstance(world, FormEnv):
            self._policy = FormPolicy(world, first=not self._careful)
        else:
            self._policy = ShopPolicy(self._careful)
        self._policy.reset(self._seen(info), {})
        self._wanted = ""

    def act(self, observation: Observation, info: Info) -> str:
        """Return the next click, text or turn of the wheel towards the action that is wanted."""
        if not self._wanted:
            wanted = self._policy.act(self._seen(info), {})
            typed = _TYPED.fullmatch(wanted)
            self._text = "" if typed is None else typed[2]
            self._wanted = wanted.casefold()
        things = self._env.things
        typed = _TYPED.fullmatch(self._wanted)
        known = {one.thing.action.casefold(): one for one in things if one.thing.action}
        if self._wanted in known:
            return self._click(known[self._wanted], ends=True)
        if typed is None:
            raise AssertionError(f"the page has nothing that does {self._wanted!r}")
        fields = {one.thing.field.casefold(): one for one in things if one.thing.field}
        field = fields.get(typed[1] or QUERY)
        if field is None:
            return self._click(known["click[back to search]"])
        if self._env.cursor != field.thing.field:
            return self._click(field)
        if typed[1] is None:
            return f"\\boxed{{type {typed[2]}}}"
        text = self._text
        self._wanted = ""
        return f"\\boxed{{type {text}}}"

    def _seen(self, info: Info) -> str:
        """Return the page in words; each of its acts takes about three turns of the screen."""
        world = self._env.world
        if not isinstance(world, ShoppingEnv):
            return ""
        left = (self._env.max_turns - int(info.get("turn", 0))) // 3
        return f"Turn 0 of {left}.\n{world.page.text()}"

    def _click(self, one: PlacedThing, ends: bool = False) -> str:
        """Return a click on a thing, or a turn of the wheel that brings it nearer."""
        x, y = one.centre
        if not self._env.scroll <= y < self._env.scroll + HEIGHT:
            return f"\\boxed{{scroll {'down' if y > self._env.scroll else 'up'}}}"
        if ends:
            self._wanted = ""
        return f"\\boxed{{click {x} {y - self._env.scroll}}}"
