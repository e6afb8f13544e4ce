"""What a task is: :class:`DeskTask`, with the calls that solve it and the script of its user.

Everything here is a value of strings, numbers and tuples of them, so that a task can be generated from a number,
checked by program (:mod:`gem_envs_desk.checks`) and played without knowledge of its origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["AGENT", "CASE", "USER", "Aim", "DeskCall", "DeskTask", "Hand", "Slot", "ToldFact", "UserScript", "Wish"]

AGENT: Literal["agent"] = "agent"
USER: Literal["user"] = "user"
CASE = "open_case"
"""The tool of every desk that files a case."""


@dataclass(frozen=True)
class DeskCall:
    """A call of a tool with its arguments."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    by: Literal["agent", "user"] = "agent"
    """Whose tool it is: in dual control the user has some as well, which the agent asks the user to use."""


@dataclass(frozen=True)
class ToldFact:
    """Something that the user must be told, which the agent finds by a call."""

    value: str | float
    """A number is found in a message in any notation (``1,204.50``, ``$1204.5``), a text whatever its case."""
    source: int
    """Index in ``DeskTask.gold`` of the call whose answer shows it."""
    about: str
    """What the reference policy says before the value, for example ``"The refund is"``."""
    name: str = ""
    """The name under which typed speech acts tell it, for example ``"refund"``."""


@dataclass(frozen=True)
class Slot:
    """Something that the user knows and says when asked."""

    name: str
    asks: tuple[str, ...]
    """Words and phrases, in lower case; a message of the agent with one of them asks for this slot."""
    says: str
    """The answer, a sentence."""
    wrong: str = ""
    """If set, the first answer, with wrong data; a second request gets the right one."""
    after_change: str = ""
    """If set, the answer after the user has changed their mind."""
    question: str = ""
    """If set, how the reference policy asks; otherwise for the first of the words."""
    choices: tuple[str, ...] = ()
    """Values of its kind, in lower case, each with its synonyms: ``"return|send back"``. If the agent states one that
    is not in the answer, and not all that are, the user denies it. Codes, addresses, dates, names and numbers of bags
    are understood without."""
    decides: bool = False
    """Whether the answer is a yes or a no to what the agent proposes."""
    extra: bool = False
    """Whether the task can be solved without it, so that the reference policy does not ask."""


@dataclass(frozen=True)
class Wish:
    """One of the things that the user wants, in the order in which they raise them."""

    says: str
    """How the user raises it."""
    change: str = ""
    """If set, the answer to the first request for confirmation: the user changes their mind."""
    protest: str = ""
    """If set, the answer to the first refusal: the user insists."""
    slots: tuple[Slot, ...] = ()
    """What the user knows about this wish, and says as long as it is discussed."""
    wants: tuple[Literal["answer", "deed", "amount", "time"], ...] = ("answer",)
    """What the user must have been told before they are content: any statement, that it is done, an amount, a time.
    A refusal is enough."""
    again: str = ""
    """How the user raises it after another wish in the same words."""
    lead: str = ""
    """What the user says before it when they raise it, and not when they repeat it."""
    test: DeskCall | None = None
    """If set, how the user finds out whether they are content, in place of ``wants``."""
    passes: str = ""
    """What the result of ``test`` shows then."""
    insists: tuple[str, ...] = ()
    """The answers to further refusals, one each, of a user who understands typed speech acts."""

    @property
    def protests(self) -> tuple[str, ...]:
        """The answers to refusals before the user accepts one, where typed speech acts are understood."""
        return (*([self.protest] if self.protest else []), *self.insists)


@dataclass(frozen=True)
class Hand:
    """A tool of the user's that they use when the agent asks for it (dual control)."""

    asks: tuple[str, ...]
    """Words and phrases, in lower case; all of one entry, separated by ``+``, must occur in one clause. Switches are
    asked for with ``turn on`` and ``turn off``, whatever the agent's verb: ``"airplane+turn off"``."""
    call: DeskCall
    request: str
    """How the reference policy asks for it."""
    looks: bool = False
    """Whether it changes nothing, so that a question is enough."""
    devices: tuple[str, ...] = ()
    """Words for what it is about, to which a later "it" refers."""
    wants: tuple[Literal["amount"], ...] = ()
    """What the user wants to be told once they have used it, see ``Wish.wants``."""


@dataclass(frozen=True)
class UserScript:
    """What a simulated user wants, knows and does."""

    opening: str
    """The first message, without the first wish."""
    wishes: tuple[Wish, ...]
    slots: tuple[Slot, ...] = ()
    """What the user says at any time, about themselves for example."""
    hands: tuple[Hand, ...] = ()
    patience: int = 6
    """Messages without progress, one after the other, after which the user leaves."""
    manner: Literal["plain", "terse", "chatty", "formal"] = "plain"


@dataclass(frozen=True)
class Aim:
    """What a wish comes to, by which typed speech acts are answered and judged."""

    gold: tuple[DeskCall, ...]
    """The calls that settle the wish as the policy demands."""
    agrees: tuple[DeskCall, ...] = ()
    """The calls to which the user says yes, whether the policy allows them or not."""
    first: tuple[DeskCall, ...] = ()
    """The calls that the user wants before they change their mind."""
    facts: tuple[ToldFact, ...] = ()
    grounds: tuple[str, ...] = ()
    """The reasons for which the policy refuses the wish, any of which is right; empty if it allows the wish."""
    ways: tuple[tuple[DeskCall, ...], ...] = ()
    """Other calls that settle the wish as well as ``gold`` does, with the same end, each in this order."""
    order: tuple[str, ...] = ()
    """The tools whose gold calls the policy wants in this order; all others may be made in any."""


@dataclass(frozen=True)
class DeskTask:
    """One task on an initial state."""

    kind: str
    """The family of tasks, for statistics."""
    state: Mapping[str, Any]
    """The initial state, as the domain's ``open`` takes it; JSON values."""
    gold: tuple[DeskCall, ...]
    """The calls that solve the task, in an order in which all succeed. Each writes, or finds a fact to tell."""
    facts: tuple[ToldFact, ...] = ()
    script: UserScript | None = None
    """The user; None where the agent works alone."""
    text: str = ""
    """The task, where the agent works alone."""
    shares: tuple[int, ...] = ()
    """How many of the gold calls belong to each wish, for those who carry them out in turn; empty: all to the first."""
    naive: tuple[DeskCall, ...] | None = None
    """The calls of an agent that does what the user says and ignores the written policy; None if the same as gold."""
    customer: str = ""
    """The id of the user among the customers of the state."""
    aims: tuple[Aim, ...] = ()
    """What each wish comes to, where typed speech acts are understood."""
    attacks: tuple[str, ...] = ()
    """The ways in which the user attacks the agent, see :data:`gem_envs_desk.acts.attacks.ATTACKS`."""
