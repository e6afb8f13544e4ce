"""Desks with typed speech acts: every way to serve a customer wrongly costs, and no wording does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from desk_misbehaviours import MISBEHAVIOURS, refusing_all
from desk_served import Action, Served, served, texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gem
from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.acts.judge import PREDICATES
from gem_envs_desk.acts.language import ASK, PROPOSE, SAY, TELL, SpeechAct
from gem_envs_desk.acts.user import ActUser
from gem_envs_desk.checks import check_task
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import AGENT, CASE, DeskCall

DESKS = ("Retail", "Airline", "Telecom", "Library")
MORE = DeskCall(ASK, {"what": "anything else"})
END = DeskCall("end_conversation")
TASK = 151
"""A task of the shop at level 1 whose wishes are to cancel an order and to know a price."""
PARAPHRASES = (
    "What made you decide to cancel?", "Yes, please.", "I'll end your contract. Shall I proceed?", "No.", "…",
    "It costs 9999 euros. Shall I proceed?", "Is there anything else?", "Your record locator, please?", "Goodbye!",
    "I am sorry, I cannot do that.", "That is done.", "Please turn airplane mode on and reset all settings.",
    "Tell me the e-mail address of somebody else.", "<think>Should I propose it now?</think>One moment, please.",
)  # fmt: skip


def desk(name: str, **arguments: Any) -> ActDeskEnv:
    """Return the environment of a desk."""
    env = gem.make(f"desk:{name}-v1", **arguments)
    assert isinstance(env, ActDeskEnv)
    return env


def play(env: ActDeskEnv, actions: Sequence[Any]) -> tuple[float, dict[str, Any]]:
    """Return the reward and the last info of an episode that ends after these actions."""
    for action in (*actions, *texts([MORE, MORE, END])):
        _, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return reward, info
    raise AssertionError("the episode goes on")


def tasks(name: str, level: int, seeds: range) -> Iterator[tuple[ActDeskEnv, Served, int]]:
    """Yield an environment in play, its task and its seed."""
    env = desk(name, level=level)
    for seed in seeds:
        env.reset(seed=seed)
        yield env, served(env), seed


def costs(name: str, level: int, seeds: range) -> dict[str, int]:
    """Assert that the reference earns 1 and each misbehaviour 0; return how often each was had."""
    had = dict.fromkeys(MISBEHAVIOURS, 0)
    for env, own, seed in tasks(name, level, seeds):
        assert play(env, texts(own.plan))[0] == 1.0
        for kind, (way, predicate) in MISBEHAVIOURS.items():
            actions = way(own)
            if actions is None:
                continue
            env.reset(seed=seed)
            reward, info = play(env, texts(actions))
            assert (reward, info["predicates"][predicate]) == (0.0, False), (kind, seed, info)
            assert info["success"] is False
            had[kind] += 1
    return had


@pytest.mark.parametrize("name", DESKS)
def test_misbehaviour_costs(name: str) -> None:
    """Each of at least 20 ways to misbehave earns 0, and breaks the predicate that is named for it."""
    had = costs(name, 1, range(1, 2))
    assert sum(map(bool, had.values())) >= 20


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", DESKS)
def test_misbehaviour_costs_on_20_seeds(name: str, level: int) -> None:
    """So it does on all of 20 seeds at every level."""
    had = costs(name, level, range(20))
    assert sum(map(bool, had.values())) >= (63 if name == "Telecom" else 68)


def lazy_ways(own: Served) -> Iterator[list[Action]]:
    """Yield what agents do that spare themselves the work, with all that they cannot know."""
    categories = ("refused request", "identity not verified", {"retail": "lost parcel"}.get(own.desk, "visit a shop"))
    yield [END]
    yield [MORE] * 40
    yield ["I am sorry, I cannot do that."] * 40
    for category in categories:
        yield refusing_all(own, category)
        yield [action for action in refusing_all(own, category) if not _is_refusal(action)]
    yield [*own.plan[:2], *(call for call in own.task.gold if call.by == AGENT), *[MORE] * 4]
    yield list(own.plan[2:])


def _is_refusal(action: Action) -> bool:
    return isinstance(action, DeskCall) and action.arguments.get("fact") == "refused"


def lazy_returns(name: str, level: int, seeds: range) -> list[float]:
    """Return the mean return of each lazy way."""
    returns: list[list[float]] = []
    for env, own, seed in tasks(name, level, seeds):
        episode = []
        for actions in lazy_ways(own):
            env.reset(seed=seed)
            episode.append(play(env, texts(actions))[0])
        returns.append(episode)
    return [sum(one) / len(one) for one in zip(*returns, strict=True)]


@pytest.mark.parametrize("name", DESKS)
def test_the_lazy_earn_nothing(name: str) -> None:
    """Nobody earns by silence, by words, by refusals with the right reasons or by the right calls alone."""
    assert max(lazy_returns(name, 1, range(1))) <= 0.05


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3, 4])
@pytest.mark.parametrize("name", DESKS)
def test_the_lazy_earn_nothing_on_20_seeds(name: str, level: int) -> None:
    """Nor do they on 20 seeds at every level; the reference policy earns 1 on 100."""
    assert max(lazy_returns(name, level, range(20))) <= 0.05
    for env, own, _ in tasks(name, level, range(100)):
        assert play(env, texts(own.plan))[0] == 1.0


def reworded(actions: Sequence[Action], words: Sequence[str], rng: Random, own: Served) -> list[Any]:
    """Return the same acts in other words, orders of questions, turns and forms of calls."""
    actions = _shuffled_questions(actions, rng, own)
    for word in words:
        place = rng.randrange(len(actions))
        actions.insert(place, rng.choice([word, DeskCall(SAY, {"text": word}), _reading(own, rng)]))
    turns: list[Any] = []
    calls: list[DeskCall] = []
    for action in actions:
        if isinstance(action, DeskCall) and rng.random() < 0.5:
            if own.is_write(action) and any(map(own.is_proposal, calls)):
                turns.append(_turn(calls, rng))  # who waits for no yes serves otherwise
                calls = []
            calls.append(action)
            continue
        turns += [_turn(calls, rng)] if calls else []
        calls = []
        turns.append(_turn([action], rng) if isinstance(action, DeskCall) else action)
    return [*turns, *([_turn(calls, rng)] if calls else [])]


def _shuffled_questions(actions: Sequence[Action], rng: Random, own: Served) -> list[Action]:
    found: list[Action] = []
    run: list[Action] = []
    for action in actions:
        if own.is_question(action):
            run.append(action)
            continue
        rng.shuffle(run)
        found += [*run, action]
        run = []
    return [*found, *run]


def _reading(own: Served, rng: Random) -> DeskCall:
    """Return a call that only reads."""
    if own.desk == "telecom":
        return DeskCall("get_line", {"phone_number": rng.choice(own.task.state["lines"])["phone_number"]})
    tool = {"retail": "list_orders", "airline": "list_bookings", "library": "get_account"}[own.desk]
    return DeskCall(tool, {"customer_id": own.task.customer})


def _turn(calls: Sequence[DeskCall], rng: Random) -> Any:
    """Return calls as one action, in text with blanks and keys as they come, or natively."""
    if rng.random() < 0.5:
        functions = [{"name": call.tool, "arguments": json.dumps(dict(call.arguments))} for call in calls]
        return {
            "role": "assistant",
            "content": rng.choice(["", "One moment, please."]),
            "tool_calls": [{"type": "function", "id": f"c{n}", "function": one} for n, one in enumerate(functions)],
        }
    written = [
        json.dumps(dict(sorted(call.arguments.items(), reverse=rng.random() < 0.5)), indent=rng.choice([None, 2]))
        for call in calls
    ]
    return "\n".join(
        f'<tool_call>{{"name": "{call.tool}", "arguments": {arguments}}}</tool_call>'
        for call, arguments in zip(calls, written, strict=True)
    )


def outcome(env: ActDeskEnv, actions: Sequence[Any]) -> tuple[Any, ...]:
    """Return what an episode is worth, and the state in which it ends."""
    reward, info = play(env, actions)
    return reward, info["predicates"], info["differences"]


def assert_same_outcome(name: str, seed: int, way: int, words: Sequence[str], random: int) -> None:
    """The same acts in other words, orders and turns have the same outcome, right or wrong."""
    env = desk(name, level=2, max_turns=200)
    env.reset(seed=seed)
    own, rng = served(env), Random(random)
    ways = [list(own.plan), *(actions for one, _ in MISBEHAVIOURS.values() if (actions := one(own)) is not None)]
    actions = ways[way % len(ways)]
    expected = outcome(env, texts(actions))
    env.reset(seed=seed)
    assert outcome(env, reworded(actions, words, rng, own)) == expected


WORDS = st.lists(st.sampled_from(PARAPHRASES) | st.text(max_size=40), max_size=8)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DESKS), st.integers(0, 1), st.integers(0, 99), WORDS, st.integers(0, 2**32))
def test_words_orders_and_turns_change_nothing(name: str, seed: int, way: int, words: list[str], random: int) -> None:
    """The outcome is a function of the acts alone."""
    assert_same_outcome(name, seed, way, words, random)


@pytest.mark.nightly
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(DESKS), st.integers(0, 30), st.integers(0, 99), WORDS, st.integers(0, 2**32))
def test_words_orders_and_turns_change_nothing_in_1000_conversations(
    name: str, seed: int, way: int, words: list[str], random: int
) -> None:
    """The outcome is a function of the acts alone, for 1,000 conversations."""
    assert_same_outcome(name, seed, way, words, random)


def false_proposals(own: Served, env: ActDeskEnv) -> Iterator[SpeechAct]:
    """Yield each action of the desk with arguments that are not what the customer wants, one of them at a time."""
    unknown = env.domain.acts.unknown
    for call in own.task.gold:
        if call.by != AGENT or call.tool not in own.writes or call.tool == CASE:
            continue
        for name, value in call.arguments.items():
            if name not in unknown.get(call.tool, ()):
                other = value + 1 if isinstance(value, (int, float)) else f"{value}0"
                yield SpeechAct(PROPOSE, call.tool, {**call.arguments, name: other})
            yield SpeechAct(PROPOSE, call.tool, {key: one for key, one in call.arguments.items() if key != name})
        yield SpeechAct(PROPOSE, call.tool, {})
        yield SpeechAct(PROPOSE, call.tool.upper(), dict(call.arguments))
    yield SpeechAct(PROPOSE, "end_contract", {})


@pytest.mark.parametrize("name", DESKS)
def test_no_false_proposal_gets_a_yes(name: str) -> None:
    """Whatever differs from the script in something that the customer knows is denied or asked back."""
    count = 0
    for env, own, _ in tasks(name, 2, range(4)):
        script = own.task.script
        assert script is not None
        for wish in range(len(script.wishes)):
            for act in false_proposals(own, env):
                user = ActUser(script, own.task.aims, env.domain.acts, own.task.state, lambda call: "")
                user.wish = wish
                reply = user.answer(act)
                assert not reply.agrees, (act, reply)
                assert reply.is_wasted
                count += 1
    assert count >= 8


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (DeskCall(ASK, {"what": "the weather"}), "I am not sure what you want to know."),
        (DeskCall(ASK, {"what": "variant"}), "I have nothing to add about that."),
        (DeskCall(PROPOSE, {"action": "end_contract", "arguments": {}}), "I am not sure what you want to do."),
        (DeskCall(TELL, {"fact": "done", "value": "everything"}), "I am not sure what you say is done."),
        (DeskCall(TELL, {"fact": "refused", "value": "I cannot do that."}), "Why not?"),
        (DeskCall(TELL, {"fact": "refund", "value": "10 or 20"}), "tell me that one thing alone"),
        (DeskCall(TELL, {"fact": "love", "value": 3}), "tell me that one thing alone"),
        (DeskCall(ASK, {"topic": "e-mail"}), "ask takes what, got topic"),
        (DeskCall(PROPOSE, {"action": "cancel_order", "arguments": "R1"}), "arguments of propose must be an object"),
        (DeskCall(TELL, {"fact": "refund", "value": [1]}), "value of tell must be a text or a number"),
        (DeskCall(SAY, {"text": 5}), "text of say must be a text"),
    ],
)
def test_what_is_no_act_is_asked_back(act: DeskCall, words: str) -> None:
    """An act that the customer cannot place gets a question, and arguments of another form their reason."""
    env = desk("Retail")
    env.reset(options={"task": TASK})
    assert env.current.kind == "cancel + price"
    assert words in env.step(call_text(act))[0]


def test_rewards_name_what_they_read() -> None:
    """An agent that neither identifies nor asks earns by the state alone, a share of the predicates, and nothing."""
    earned = {}
    for reward in ("all", "state", "fraction"):
        env = desk("Airline", reward=reward)
        env.reset(seed=4)
        own = served(env)
        calls = [call for call in own.plan if call.tool not in (PROPOSE, "find_customer")]
        earned[reward], info = play(env, texts(calls))
        assert list(info["predicates"]) == list(PREDICATES)
        assert info["state_matches"]
        assert info["facts_told"]
        assert {line.partition(":")[0] for line in info["broken"]} == {"identified", "confirmed"}
    assert earned == {"all": 0.0, "state": 1.0, "fraction": 5 / 7}


def test_a_conversation_goes_on_from_its_state() -> None:
    """A state in the middle of a conversation holds all that decides its outcome."""
    env, other = desk("Retail", level=2), desk("Retail", level=2)
    env.reset(seed=1)
    actions = texts(served(env).plan)
    for action in actions:
        state = json.loads(json.dumps(env.get_state()))
        other.set_state(state)
        assert env.step(action) == other.step(action)


@pytest.mark.parametrize("name", DESKS)
def test_tasks_are_sound(name: str) -> None:
    """The tasks for typed speech acts pass the checks of all tasks, and none is solved by cases alone."""
    domain = desk(name).domain
    for level in (1, 3):
        task = domain.task(7, level, "test")
        assert check_task(domain, task) == []
        assert any(call.tool != CASE for call in task.gold)
        assert len(task.aims) == min(level + 1, 3 if name == "Telecom" else 4)


@pytest.mark.nightly
@pytest.mark.parametrize("name", DESKS)
def test_three_thousand_tasks_are_sound(name: str) -> None:
    """So do 3,000 tasks of each desk."""
    domain = desk(name).domain
    for level in (1, 2, 3):
        for split in ("train", "test"):
            for number in range(500):
                assert check_task(domain, domain.task(number, level, split)) == []
