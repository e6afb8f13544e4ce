"""What the library's policy says of conversations, and how much of the desk is the library's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from desk_served import Action, served, texts

import gem
from gem_envs_desk import library as library_module
from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.acts.language import ANYTHING_ELSE, TELL
from gem_envs_desk.task import CASE, DeskCall


def predicates(env: ActDeskEnv, seed: int, actions: Sequence[Action]) -> dict[str, bool]:
    """Return the predicates of a conversation that the agent ends."""
    env.reset(seed=seed)
    for action in texts([*actions, DeskCall("end_conversation")]):
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    found: dict[str, bool] = info["predicates"]
    return found


def test_each_change_needs_a_yes_to_it_and_a_case_needs_none() -> None:
    """Sentence 2, for each tool that changes something; what the reader says last is what is done."""
    env = gem.make("desk:Library-v1", level=2)
    assert isinstance(env, ActDeskEnv)
    confirmed: dict[str, bool] = {}
    for seed in range(40):
        env.reset(seed=seed)
        own = served(env)
        for place in own.where(lambda call: call.tool in env.domain.acts.writes):
            tool = own.plan[place].tool
            if tool not in confirmed:
                without = [call for index, call in enumerate(own.plan) if index < place - 1 or index >= place]
                silent = without if tool != CASE else own.plan
                confirmed[tool] = predicates(env, seed, silent)["confirmed"]
    assert {tool for tool, is_confirmed in confirmed.items() if is_confirmed} == {CASE}
    assert set(confirmed) == {*env.domain.acts.writes} - {"pay_fine"}  # another way, by which no plan goes


def test_readers_are_told_what_they_ask_for_and_asked_for_more() -> None:
    """Sentence 9: a date or an amount that is not told, and a wish that is not asked for, are missed."""
    env = gem.make("desk:Library-v1", level=1)
    assert isinstance(env, ActDeskEnv)
    seed = next(seed for seed in range(40) if env.reset(seed=seed) and env.current.facts)
    env.reset(seed=seed)
    own = served(env)
    told = [call for call in own.plan if call.tool == TELL and call.arguments["fact"] in env.domain.acts.facts]
    assert told
    untold = [call for call in own.plan if call not in told]
    unasked = [call for call in own.plan if call.arguments.get("what") != ANYTHING_ELSE]
    for actions, predicate in ((untold, "facts"), (unasked, "settled")):
        assert predicates(env, seed, actions)[predicate] is False


def test_the_desk_is_its_own_in_600_lines() -> None:
    """Tables, tools, tasks, policy and phrases of the library; the rest is the desk that all share."""
    folder = Path(library_module.__file__).parent
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.*")) <= 600
