"""Models that play users are held to their script: each kind of fault is found, and who keeps to it has none."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any

import pytest
from stand_in_users import HonestUser, connected
from test_desk_hearing import CASES as HEARD_CASES

import gem
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.reference import DeskPolicy
from gem_envs_desk.task import DeskTask
from gem_envs_desk.users.chat import STOP
from gem_rollout.simulated_people.faults import FAULTS, spoken_fault

pytest.importorskip("gem_eval.clients")

HELLO = "Hello, how can I help you?"
ORDER = "What is the order number, please?"
E_MAIL = "What is your e-mail address, please?"
NO_TOOL = '<tool_call>{"name": "x", "arguments": {}}</tool_call>'
THOUGHT = "<think>Which one?</think>"
CALL = (
    '<tool_call>{{"name": "set_switch", '
    '"arguments": {{"phone_number": "{number}", "switch": "vpn", "on": false}}}}</tool_call>'
)

# Kind of fault → desk, kind of task, level, the agent's messages with the user's answers, of which the last has it.
PLANTED: dict[str, list[tuple[str, str, int, list[tuple[str, Any]]]]] = {
    "no answer": [("Retail", "cancel", 1, [(ORDER, RuntimeError("no server"))])],
    "endless calls": [("Telecom", "airplane mode", 1, [(HELLO, NO_TOOL)])],
    "silence": [("Retail", "cancel", 1, [(ORDER, "")]), ("Retail", "cancel", 1, [(ORDER, THOUGHT)])],
    "too long": [("Retail", "cancel", 1, [(ORDER, "please " * 400)])],
    "repetition": [
        ("Retail", "cancel", 1, [("One moment, please.", "Please hurry up.")] * 6),
        ("Retail", "cancel", 1, [(HELLO, "No, no, " * 20)]),
    ],
    "echo": [
        ("Retail", "cancel", 1, [("One moment, please.", "one moment, please.")]),
        ("Retail", "cancel", 1, [(f"I see. {ORDER} I need it to look the order up in our system.",) * 2]),
    ],
    "other language": [("Retail", "cancel", 1, [(HELLO, "Ich möchte gerne meine Bestellung stornieren lassen.")])],
    "agent's part": [
        ("Retail", "cancel", 1, [(HELLO, "Of course! How can I assist you today?")]),
        ("Retail", "cancel", 1, [(ORDER, "I have cancelled your order and sent an e-mail.")]),
        ("Retail", "cancel", 1, [(ORDER, "I am sorry, I am unable to access that.")]),
        ("Retail", "cancel", 1, [(ORDER, "As an AI language model, I have no orders.")]),
        ("Retail", "cancel", 1, [(ORDER, "Please provide your order number so that I can help.")]),
    ],
    "prompt": [
        ("Retail", "cancel", 1, [(ORDER, "My instructions say that I know the number.")]),
        ("Retail", "cancel", 1, [(ORDER, "<|im_start|>user The order number is {order}.")]),
        ("Retail", "cancel", 1, [(ORDER, "What you know; say it only when asked. The order number is {order}.")]),
    ],
    "agent's tool": [
        ("Retail", "cancel", 1, [(ORDER, "Just call cancel_order for me, please.")]),
        ("Retail", "cancel", 1, [(ORDER, '<tool_call>{"name": "cancel_order", "arguments": {}}</tool_call>')]),
    ],
    "solution": [("Airline", "upgrade", 1, [(HELLO, "It will be {fact} then, I think.")])],
    "invention": [
        ("Retail", "cancel", 1, [(ORDER, "The order number is R00001.")]),
        ("Retail", "cancel", 1, [(E_MAIL, "It is someone@else.example.")]),
        ("Retail", "cancel", 1, [("Where does it go?", "It goes to 12 Nowhere Street.")]),
        ("Retail", "cancel", 1, [(HELLO, "I paid 512.75 euros for it.")]),
        ("Airline", "rebook", 1, [("Which day?", "I want to fly on June 3, 2027.")]),
        ("Airline", "bags", 1, [("How many bags?", "I want to take nine bags, 9 bags in all.")]),
        ("Retail", "cancel", 1, [("What is your name?", "My name is Bob Miller.")]),
    ],
    "contradiction": [
        ("Retail", "cancel", 1, [("Why?", "I have found it cheaper elsewhere.")]),
        ("Retail", "cancel", 1, [(HELLO, "I want to exchange an item.")]),
        ("Airline", "upgrade", 1, [("Which cabin?", "I want to fly in economy.")]),
    ],
    "unasked": [
        ("Retail", "cancel", 1, [("One moment, please.", "The order number is {order}.")]),
        ("Retail", "cancel", 1, [(E_MAIL, "It is {email}, and the order number is {order}.")]),
        ("Retail", "cancel", 1, [(ORDER, "It is {order}. My name is {name}.")]),
        ("Retail", "cancel", 1, [(ORDER, "The order number is {zip}.")]),
        ("Retail", "cancel + price", 2, [(HELLO, "My e-mail address is {email}, my zip code is {zip}.")]),
    ],
    "early wish": [("Retail", "cancel + price", 2, [(ORDER, "{other}")])],
    "early change": [("Retail", "address, changed mind + cancel", 2, [("One moment, please.", "{change}")])],
    "false yes": [
        ("Retail", "cancel", 1, [("I will cancel order R00001. Shall I proceed?", "Yes, please.")]),
        ("Retail", "cancel", 1, [("Shall I return the item for you?", "Sure, go ahead.")]),
        ("Airline", "rebook", 1, [("I'd book you on 2026-05-30. Shall I proceed?", "Yes, that is right.")]),
    ],
    "withheld": [
        ("Retail", "cancel", 1, [(E_MAIL, "Why do you need that?"), (ORDER, "It is the one of last week.")]),
        ("Airline", "upgrade", 1, [("What is the booking code?", "Hm."), ("One moment.", "Fine."), (E_MAIL, "Later.")]),
    ],
    "unasked deed": [("Telecom", "airplane mode", 1, [("One moment, please.", ("{call}", "I have looked."))])],
    "claimed deed": [("Telecom", "airplane mode", 1, [("Please turn airplane mode off.", "I have turned it off.")])],
    "early end": [
        ("Retail", "cancel", 1, [(ORDER, f"Never mind. {STOP}")]),
        ("Retail", "cancel + price", 2, [("That is done. Is there anything else?", f"No, thank you. {STOP}")]),
        ("Retail", "refund", 1, [(ORDER, "It is {order}."), ("One moment, please.", f"Thank you. {STOP}")]),
        ("Retail", "refund", 1, [(ORDER, "It is {order}."), ("I have refunded it.", f"Thank you. {STOP}")]),
    ],
}  # fmt: skip
CASES = [(kind, *case) for kind, cases in PLANTED.items() for case in cases]


def desk(name: str, level: int) -> DeskEnv:
    """Return a desk whose user is a model, to be connected."""
    env = gem.make(f"desk:{name}-v0", level=level, user="scripted:unused", max_turns=60)
    assert isinstance(env, DeskEnv)
    return env


def played(name: str, kind: str, level: int) -> DeskEnv:
    """Return a desk with the first task of a kind in play, in which the customer gives no wrong data."""
    env = desk(name, level)
    for task in range(4000):
        found = env.domain.task(task, level, "train")
        assert found.script is not None
        has_wrong = any(slot.wrong for wish in found.script.wishes for slot in wish.slots)
        if found.kind == kind and not has_wrong and ("change" not in kind or found.script.wishes[0].change):
            env.reset(options={"task": task})
            return env
    raise AssertionError(f"there is no task {kind}")


def known_of(task: DeskTask) -> dict[str, str]:
    """Return the data that stand for the names in the table."""
    assert task.script is not None
    first, *others = task.script.wishes
    says = {slot.name: slot.says for slot in (*task.script.slots, *first.slots)}
    number = task.script.hands[0].call.arguments["phone_number"] if task.script.hands else ""
    return {
        "order": says.get("order", " ").split(" ")[-1].rstrip("."),
        "email": says["e-mail"].split()[-1].rstrip("."),
        "zip": says.get("zip", " ").split(" ")[-1].rstrip("."),
        "name": says["name"].removeprefix("My name is ").rstrip("."),
        "fact": str(task.facts[0].value) if task.facts else "",
        "other": others[0].says if others else "",
        "change": first.change,
        "call": CALL.format(number=number),
    }


@pytest.mark.parametrize(("fault", "name", "kind", "level", "turns"), CASES)
def test_each_kind_of_fault_is_found(
    fault: str, name: str, kind: str, level: int, turns: list[tuple[str, Any]]
) -> None:
    """The turn that breaks the script ends the episode, masked, with the kind of the fault; the turns before do not."""
    env = played(name, kind, level)
    known = known_of(env.current)
    said: list[Any] = []

    def model(messages: list[dict[str, Any]]) -> Any:
        if not isinstance(said[-1], tuple):
            return said[-1]
        return said[-1][messages[-1]["content"].startswith("(What you see")]

    connected(env, model)
    for index, (message, answer) in enumerate(turns, 1):
        said.append(_filled(answer, known))
        _, reward, terminated, truncated, info = env.step(message)
        if index < len(turns):
            assert "user_fault" not in info, info
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["user_fault_kind"] == fault, info
    assert info["user_fault"].startswith("the user")


def _filled(answer: Any, known: dict[str, str]) -> Any:
    if isinstance(answer, tuple):
        return tuple(_filled(part, known) for part in answer)
    if not isinstance(answer, str):
        return answer
    for name, value in known.items():
        answer = answer.replace(f"{{{name}}}", value)
    return answer


def test_every_kind_is_planted() -> None:
    """No kind of fault is without a turn that has it."""
    assert set(PLANTED) == set(FAULTS)


def test_one_question_may_be_evaded() -> None:
    """Who asks back and then answers keeps to the script, however often."""
    env = played("Retail", "cancel", 1)
    email = known_of(env.current)["email"]
    answers = ["Why do you need that?", f"It is {email}.", "Again?", f"It is {email}."]
    connected(env, lambda messages: answers[len(messages) // 2 - 2])
    for _ in answers:
        *_, info = env.step(E_MAIL)
        assert "user_fault" not in info, info
    assert len(FAULTS) >= 12


def faults_of_the_honest(name: str, level: int, seeds: range) -> tuple[Counter[str], float]:
    """Return the faults found in a user who keeps to the script, and what the reference policy earns with them."""
    env = desk(name, level)
    connected(env, HonestUser(env))
    found: Counter[str] = Counter()
    earned = 0.0
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        policy = DeskPolicy(env)
        policy.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        found += Counter([info["user_fault"]] if "user_fault" in info else [])
        earned += reward
    return found, earned / len(seeds)


@pytest.mark.parametrize(("name", "level"), [("Retail", 2), ("Airline", 3), ("Telecom", 1)])
def test_who_keeps_to_the_script_has_no_fault(name: str, level: int) -> None:
    """The scripted user behind the door of a model plays whole episodes, which are graded as ever."""
    assert faults_of_the_honest(name, level, range(2)) == (Counter(), 1.0)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("cancel", "Could you please provide your email address, or your name and zip code?"),
        ("cancel", "If you can recall your zip code, please let me know."),
        ("cancel", "The address is now 380 Maple Drive, San Diego, 92101. Anything else?"),
        ("cancel", "Please provide the new address details."),
        ("address", "The address:\n- Street: 445 Maple Drive\n- City: Ostby\n- Zip code: 76165\nIs this correct?"),
    ],
)
def test_an_address_holds_a_zip_code_that_may_be_told_with_it(kind: str, message: str) -> None:
    """The customer's zip code is that of the delivery address, so whoever is asked for either tells of both."""
    env = played("Retail", kind, 1)
    connected(env, HonestUser(env))
    observation, _, _, _, info = env.step(message)
    assert "user_fault" not in info, info
    assert re.search(r"\b\d{5}\b", observation)


def faults_among_utterances(name: str, level: int, seeds: range) -> list[tuple[int, str, str]]:
    """Return the faults found in a user who keeps to the script, whatever else the agent says in between."""
    utterances = [utterance for _, utterance in HEARD_CASES if "{" not in utterance]
    env = desk(name, level)
    connected(env, HonestUser(env, stays=True))
    found = []
    for seed in seeds:
        rng = Random(seed)
        policy = DeskPolicy(env)
        policy.reset(*env.reset(seed=seed))
        over = False
        while policy._left and not over:
            action = rng.choice(utterances) if rng.random() < 0.35 else policy.act("", {})
            *_, terminated, truncated, info = env.step(action)
            if "user_fault" in info:
                found.append((seed, action, info["user_fault"]))
            over = terminated or truncated
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", ["Retail", "Airline", "Telecom"])
def test_no_utterance_of_an_agent_is_a_fault_of_the_customer(name: str, level: int) -> None:
    """A user who keeps to the script has no fault in 90 episodes, a third of whose messages come out of order."""
    assert faults_among_utterances(name, level, range(10)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("name", ["Retail", "Airline", "Telecom"])
def test_who_keeps_to_the_script_has_no_fault_in_50_episodes(name: str, level: int) -> None:
    """No fault is found in 450 episodes without one."""
    assert faults_of_the_honest(name, level, range(50)) == (Counter(), 1.0)


def test_who_does_not_know_what_the_agent_wants_speaks_of_no_prompt() -> None:
    """The words with which customers ask back are no words of the prompt alone."""
    for text in ("I am not sure what you want to know.", "I'm not sure what you want to do.", "Tell me what you know."):
        assert spoken_fault(text, ends=False, message=HELLO, said=(), agent_tools=()) is None
