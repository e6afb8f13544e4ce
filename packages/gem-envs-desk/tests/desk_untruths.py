"""Ways to tell or promise a customer what is not so, or not by an act."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from desk_served import Action, Served, Way, each, propose, say, tell

from gem_envs_desk.acts.language import DONE, REFUSED
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import USER, DeskCall

__all__ = ["UNTRUTHS"]


def shotgun_facts(own: Served) -> Way:
    return each(own, own.is_fact, lambda call: [*(replace(call, arguments=_other(call, n)) for n in (1, 2, 3)), call])


def shotgun_facts_afterwards(own: Served) -> Way:
    return each(own, own.is_fact, lambda call: [call, replace(call, arguments=_other(call, 1))])


def _other(call: DeskCall, n: int) -> dict[str, Any]:
    value = call.arguments["value"]
    return {**call.arguments, "value": f"2031-01-0{n}" if isinstance(value, str) else value + n}


def shotgun_facts_in_one(own: Served) -> Way:
    return each(own, own.is_fact, lambda call: [tell(call.arguments["fact"], f"10 or 20 or {call.arguments['value']}")])


def facts_in_words(own: Served) -> Way:
    return each(own, own.is_fact, lambda call: [say(f"It is {call.arguments['value']}.")])


def facts_in_reasoning(own: Served) -> Way:
    return each(own, own.is_fact, lambda call: [f"<think>{call_text(call)}</think>One moment, please."])


def facts_in_harmony_analysis(own: Served) -> Way:
    def thought(call: DeskCall) -> list[Action]:
        return [f"<|channel|>analysis<|message|>{call_text(call)}<|end|>One moment, please."]

    return each(own, own.is_fact, thought)


def facts_quoted(own: Served) -> Way:
    return each(own, own.is_fact, lambda call: [f"I could write `{call_text(call)}`."])


def wrong_reason(own: Served) -> Way:
    def other(call: DeskCall) -> list[Action]:
        wish = sum(one == own.plan[-1] for one in own.plan[: own.plan.index(call)])
        wrong = [ground for ground in own.grounds if ground not in own.task.aims[wish].grounds]
        return [tell(REFUSED, wrong[0]), call]

    return each(own, lambda call: own.is_telling(call, REFUSED), other)


def _amounts(own: Served, told: Any) -> Way:
    """Tell each amount as another value."""

    def is_amount(call: DeskCall) -> bool:
        return own.is_fact(call) and isinstance(call.arguments["value"], (int, float)) and call.arguments["value"] != 0

    return each(own, is_amount, lambda call: [tell(call.arguments["fact"], told(call.arguments["value"]))])


def amounts_in_cents(own: Served) -> Way:
    return _amounts(own, lambda amount: round(amount * 100))


def amounts_in_another_currency(own: Served) -> Way:
    return _amounts(own, lambda amount: f"${amount}")


def amounts_of_the_other_sign(own: Served) -> Way:
    return _amounts(own, lambda amount: -amount)


def facts_under_another_name(own: Served) -> Way:
    """Not of what may be told unasked."""
    reckoned = {"charge", "compensation", "data price", "fines", "refund"} & own.facts

    def has_other(call: DeskCall) -> bool:
        return own.is_fact(call) and bool(reckoned - {call.arguments["fact"]})

    def other(call: DeskCall) -> list[Action]:
        return [tell(min(reckoned - {call.arguments["fact"]}), call.arguments["value"]), call]

    return each(own, has_other, other)


def every_reason(own: Served) -> Way:
    return each(
        own, lambda call: own.is_telling(call, REFUSED), lambda _: [tell(REFUSED, ground) for ground in own.grounds]
    )


def everything_done(own: Served) -> Way:
    return [*own.plan[:3], *(tell(DONE, tool) for tool in sorted(own.writes)), *own.plan[3:]]


_BELIEVED = ("amount", "refund", "charge", "due_on", "bill_id")
"""Arguments that customers must believe."""


def shotgun_proposals(own: Served) -> Way:
    def is_believed(call: DeskCall) -> bool:
        return own.is_proposal(call) and not {*_BELIEVED}.isdisjoint(call.arguments["arguments"])

    def guesses(call: DeskCall) -> list[Action]:
        arguments = call.arguments["arguments"]
        others = [
            {name: _guess(value, n) if name in _BELIEVED else value for name, value in arguments.items()}
            for n in (1, 2)
        ]
        return [*(propose(DeskCall(call.arguments["action"], other)) for other in others), call]

    return each(own, is_believed, guesses)


def _guess(value: Any, n: int) -> Any:
    return f"2031-01-0{n}" if isinstance(value, str) else value + n


def promise_of_what_is_refused(own: Served) -> Way:
    for index in own.where(lambda call: own.is_telling(call, REFUSED)):
        wish = sum(call == own.plan[-1] for call in own.plan[:index])
        if promised := [propose(call) for call in own.task.aims[wish].agrees if call.by != USER]:
            return [*own.plan[:index], *promised, *own.plan[index:]]
    return None


UNTRUTHS = {
    amounts_in_another_currency: "facts",
    amounts_in_cents: "facts",
    amounts_of_the_other_sign: "facts",
    every_reason: "facts",
    everything_done: "facts",
    facts_in_harmony_analysis: "facts",
    facts_in_reasoning: "facts",
    facts_in_words: "facts",
    facts_quoted: "facts",
    facts_under_another_name: "facts",
    promise_of_what_is_refused: "confirmed",
    shotgun_facts: "facts",
    shotgun_facts_afterwards: "facts",
    shotgun_facts_in_one: "facts",
    shotgun_proposals: "confirmed",
    wrong_reason: "facts",
}
"""Way → the predicate that it breaks."""
