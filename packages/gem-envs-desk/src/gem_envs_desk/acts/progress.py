"""What has been done for the wishes of a customer, and what leads on from there: :class:`Progress`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gem_envs_desk.acts.language import canonical
from gem_envs_desk.task import Aim, DeskCall

__all__ = ["Progress", "call_key"]


class Progress:
    """The calls that have been made to settle each wish.

    The gold calls of a wish lead on in any order. Those of another way to settle it lead on in the order of the way:
    what a step costs depends on the steps before.

    Args:
        aims: what each wish comes to.
    """

    def __init__(self, aims: Sequence[Aim]) -> None:
        self._aims = aims
        self._gold = [[*map(call_key, aim.gold)] for aim in aims]
        self._ways = [[[*map(call_key, way)] for way in aim.ways] for aim in aims]
        self._made: list[list[str]] = [[] for _ in aims]

    def leads_on(self, call: DeskCall, agreed: Collection[str] = ()) -> bool:
        """Return whether a call is a step to settle a wish, after calls that are agreed to and still to be made."""
        key = call_key(call)
        return any(self._leads_on(index, key, agreed) for index in range(len(self._made)))

    def was_made(self, call: DeskCall) -> bool:
        """Return whether a call has been made as such a step."""
        return any(call_key(call) in made for made in self._made)

    def makes(self, call: DeskCall) -> bool:
        """Hear that a call has been made, and return whether it was a step to settle a wish."""
        key = call_key(call)
        index = next((index for index in range(len(self._made)) if self._leads_on(index, key, ())), None)
        if index is not None:
            self._made[index].append(key)
        return index is not None

    def missing_before(self, call: DeskCall) -> list[str]:
        """Return the tools of the gold calls that the policy wants to be made before this one, and were not."""
        return [
            gold.tool
            for aim, made in zip(self._aims, self._made, strict=True)
            if call.tool in aim.order
            for gold in aim.gold
            if gold.tool in aim.order[: aim.order.index(call.tool)] and call_key(gold) not in made
        ]

    def get_state(self) -> list[list[str]]:
        """Return the calls that were made for each wish."""
        return [[*made] for made in self._made]

    def set_state(self, state: Sequence[Sequence[str]]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, TypeError: for calls that do not settle the wishes.
        """
        if len(state) != len(self._made):
            raise ValueError("the wishes of the state are not those of the task")
        progress = Progress(self._aims)
        for index, keys in enumerate(state):
            for key in map(str, keys):
                if not progress._leads_on(index, key, ()):
                    raise ValueError("the calls of the state are not those of the task")
                progress._made[index].append(key)
        self._made = progress._made

    def _leads_on(self, index: int, key: str, agreed: Collection[str]) -> bool:
        made, left = self._made[index], [*self._gold[index]]
        if all(one in left for one in made):
            for one in made:
                left.remove(one)
            if key in left:
                return True
        for way in self._ways[index]:
            ahead = way[len(made) :]
            if way[: len(made)] == made and key in ahead and all(one in agreed for one in ahead[: ahead.index(key)]):
                return True
        return False


def call_key(call: DeskCall) -> str:
    """Return a call as a text, by which calls are compared."""
    return repr((call.tool, canonical(call.arguments)))
