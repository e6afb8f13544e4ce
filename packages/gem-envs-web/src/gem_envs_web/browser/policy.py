"""The reference policy of the websites in a browser: :class:`BrowserPolicy`."""

from __future__ import annotations

from collections.abc import Iterator

from gem.core import Info
from gem.policies import Policy
from gem_envs_web.browser.chromium import PageNode
from gem_envs_web.browser.env import BrowserEnv
from gem_envs_web.form.env import FormEnv
from gem_envs_web.forum.env import ForumEnv
from gem_envs_web.shop.shopping import ShoppingEnv

__all__ = ["BrowserPolicy"]


class BrowserPolicy(Policy[str, str]):
    """Does what the task wants, which it reads from the environment, with the elements that the browser shows.

    Args:
        env: the environment that it plays.
    """

    def __init__(self, env: BrowserEnv) -> None:
        self._env = env

    def reset(self, observation: str, info: Info) -> None:
        world = self._env.world
        if isinstance(world, FormEnv):
            self._actions = self._fill_in(world)
        elif isinstance(world, ForumEnv):
            self._actions = self._visit(world)
        else:
            assert isinstance(world, ShoppingEnv)
            self._actions = self._buy(world)

    def act(self, observation: str, info: Info) -> str:
        """Return the next action; a look back where nothing is left to do."""
        return next(self._actions, "click[back]")

    def _fill_in(self, world: FormEnv) -> Iterator[str]:
        values = world.task.wanted()
        wanted = {field.label: values.get(field.name, "") for field in world.task.fields().values()}
        while True:
            yield next(filter(None, (_filled(one, wanted) for one in self._env.elements)), None) or self._sent()

    def _sent(self) -> str:
        return f"click[{[one.ref for one in self._env.elements if one.role == 'button'][-1]}]"

    def _visit(self, world: ForumEnv) -> Iterator[str]:
        for step in world.task.steps:
            verb, _, rest = step.partition("[")
            target, _, value = rest[:-1].partition("][")
            if verb == "answer":
                yield step
            elif verb == "search":
                yield f"type[{self._called('Search words', 'field')}][{target}]"
                yield f"click[{self._called('Search', 'button')}]"
            elif verb in ("type", "select"):
                yield f"{verb}[{self._called(target, 'field' if verb == 'type' else 'select')}][{value}]"
            else:
                yield f"click[{self._called(target)}]"

    def _buy(self, world: ShoppingEnv) -> Iterator[str]:
        wish = world.wish
        yield f"type[{self._called('Search', 'field')}][{world.shop.product(wish.asin).name}]"
        yield f"click[{self._called('Search', 'button')}]"
        while not self._shows(wish.asin):
            yield f"click[{self._called('Next >')}]"
        yield f"click[{self._called(wish.asin)}]"
        for option in wish.options:
            yield f"click[{self._called(option)}]"
        yield f"click[{self._called('Buy Now', 'button')}]"

    def _shows(self, name: str) -> bool:
        return any(_is_called(one, name) for one in self._env.elements)

    def _called(self, name: str, role: str | None = None) -> str:
        """Return the number of an element with a name, or with a name that begins with it and a colon."""
        for one in self._env.elements:
            if _is_called(one, name) and role in (None, one.role):
                return one.ref
        raise AssertionError((name, role, [one.line() for one in self._env.elements]))


def _is_called(element: PageNode, name: str) -> bool:
    return element.name == name or element.name.startswith(f"{name}:")


def _filled(element: PageNode, wanted: dict[str, str]) -> str | None:
    """Return the action that gives a field its value; None if it has it, or the element is no field."""
    if element.role in ("field", "select") and element.value != wanted[element.name]:
        return f"{'type' if element.role == 'field' else 'select'}[{element.ref}][{wanted[element.name]}]"
    if element.role == "checkbox" and element.checked is not bool(wanted[element.name]):
        return f"click[{element.ref}]"
    return None
