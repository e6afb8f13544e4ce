"""Models that answer typed speech acts are held to the script: each kind of fault is found, honest words have none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from desk_clumsy import clumsy
from desk_served import served, texts
from stand_in_users import HonestActUser, connected

import gem
from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.acts.language import ANYTHING_ELSE, ASK, PROPOSE, SAY, TELL
from gem_envs_desk.acts.model import act_prompt
from gem_envs_desk.acts.reference import ActPolicy
from gem_envs_desk.acts.user import ActReply
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import DeskCall, DeskTask, UserScript
from gem_envs_desk.users.chat import STOP
from gem_rollout.simulated_people.faults import FAULTS

pytest.importorskip("gem_eval.clients")

E_MAIL = DeskCall(ASK, {"what": "e-mail"})
MORE = DeskCall(ASK, {"what": ANYTHING_ELSE})
DONE = DeskCall(TELL, {"fact": "done", "value": "cancel_order"})
HANDS_FREE = {"endless calls", "unasked deed"}
"""Faults of those who call tools, which a user of typed speech acts need not."""


def desk(name: str, **arguments: Any) -> ActDeskEnv:
    """Return a desk whose customer is a model, to be connected."""
    env = gem.make(f"desk:{name}-v1", user="scripted:unused", **arguments)
    assert isinstance(env, ActDeskEnv)
    return env


def begun(name: str, level: int, fits: Callable[[DeskTask], bool]) -> ActDeskEnv:
    """Begin the first task that fits."""
    env = desk(name, level=level)
    env.reset(options={"task": _first(type(env), level, fits)})
    return env


@lru_cache
def _first(kind: type[ActDeskEnv], level: int, fits: Callable[[DeskTask], bool]) -> int:
    return next(number for number in range(3000) if fits(kind.domain.task(number, level, "train")))


def script_of(task: DeskTask) -> UserScript:
    """Return the script of a task."""
    assert task.script is not None
    return task.script


def cancels(task: DeskTask) -> bool:
    """Return whether the first wish is a cancellation that names no order, and another wish follows."""
    first, last = task.aims[0].gold[0].tool, task.aims[-1].gold[0].tool
    order = next((slot.says for slot in script_of(task).wishes[0].slots if slot.name == "order" and not slot.wrong), "")
    return (
        (first, last) == ("cancel_order", "refund_item") and order != "" and order not in script_of(task).wishes[0].says
    )


def changes(task: DeskTask) -> bool:
    """Return whether the customer changes their mind about the first wish."""
    return bool(script_of(task).wishes[0].change)


def has_amount(task: DeskTask) -> bool:
    """Return whether the customer must be told an amount."""
    return any(isinstance(fact.value, float) for fact in task.facts)


def known(env: ActDeskEnv) -> dict[str, str]:
    """Return what stands for the names in the answers below."""
    script = script_of(env.current)
    says = {slot.name: slot.says for slot in (*script.slots, *script.wishes[0].slots)}
    return {
        "email": says["e-mail"], "zip": says.get("zip", ""), "order": says.get("order", ""),
        "later": script.wishes[-1].says, "change": script.wishes[0].change,
    }  # fmt: skip


PROPOSAL = "the right proposal"
WRONG = DeskCall(PROPOSE, {"action": "cancel_order", "arguments": {"order_id": "R00001", "reason": "no longer needed"}})
PLANTED: dict[str, list[tuple[DeskCall | str, Any]]] = {
    "no answer": [(E_MAIL, RuntimeError("no server"))],
    "silence": [(E_MAIL, ""), (E_MAIL, "<think>Shall I?</think>")],
    "too long": [(E_MAIL, "please " * 400)],
    "repetition": [(E_MAIL, "No, no, " * 20)],
    "echo": [(E_MAIL, "The agent asks you for: e-mail")],
    "other language": [(E_MAIL, "Ich möchte gerne meine Bestellung stornieren lassen.")],
    "agent's part": [(E_MAIL, "Of course! How can I assist you today?")],
    "prompt": [(E_MAIL, "My instructions say that I know it.")],
    "agent's tool": [(E_MAIL, "Just call cancel_order for me, please.")],
    "invention": [(E_MAIL, "It is someone@else.example."), (E_MAIL, "{email} I paid 512.75 euros.")],
    "contradiction": [(DeskCall(ASK, {"what": "reason"}), "I have found it cheaper elsewhere.")],
    "unasked": [(E_MAIL, "{email} {zip}"), (DONE, "All right. {order}"), (WRONG, "NO. {order}")],
    "early wish": [(E_MAIL, "{email} {later}"), (DONE, "Good. {later}")],
    "false yes": [(WRONG, "YES, go ahead."), (WRONG, "Sure, that is right.")],
    "withheld": [
        (E_MAIL, "I would rather not say."),
        (DeskCall(ASK, {"what": "order"}), "It is the one of last week."),
        (PROPOSAL, "NO, thank you."),
        (PROPOSAL, "Hm, let me think about it."),
    ],
    "early end": [(E_MAIL, "{email} " + STOP), (MORE, f"No, that was all. {STOP}")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "call", "answer"), [(kind, *case) for kind, cases in PLANTED.items() for case in cases]
)
def test_each_kind_of_fault_is_found(fault: str, call: DeskCall | str, answer: Any) -> None:
    """The answer that breaks the script ends the episode, masked, with its kind and a reason."""
    env = begun("Retail", 1, cancels)
    words = known(env)
    if call == PROPOSAL:
        (gold,) = env.current.aims[0].gold
        call = DeskCall(PROPOSE, {"action": gold.tool, "arguments": dict(gold.arguments)})
    assert isinstance(call, DeskCall)
    if isinstance(answer, str):
        answer = answer.replace("{", "\0").replace("}", "\1")
        for name, value in words.items():
            answer = answer.replace(f"\0{name}\1", value)
    connected(env, lambda messages: answer)
    _, reward, terminated, truncated, info = env.step(call_text(call))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["user_fault_kind"] == fault, info
    assert info["user_fault"].startswith("the user")


def spoiled_at(env: ActDeskEnv, spoils: Callable[[ActReply, str], str | None]) -> dict[str, Any]:
    """Serve a customer who is honest until ``spoils`` returns a text; return the last info."""
    honest = HonestActUser(env)

    def model(messages: list[dict[str, Any]]) -> str:
        reply = honest.reply(messages)
        return spoils(reply, str(messages[-1]["content"])) or honest.spoken(reply)

    connected(env, model)
    policy = ActPolicy(env)
    policy.reset("", {})
    for _ in range(60):
        observation, _, terminated, truncated, info = env.step(policy.act("", {}))
        if terminated or truncated:
            return dict(info)
    raise AssertionError(observation)


def test_who_stays_when_all_is_settled_withholds_the_goodbye() -> None:
    """So does who does not raise the next wish."""
    info = spoiled_at(begun("Retail", 1, cancels), lambda reply, _: "Let us talk on." if reply.ends else None)
    assert info["user_fault_kind"] == "withheld"
    info = spoiled_at(
        begun("Retail", 1, cancels), lambda _, message: "One moment." if message.endswith(ANYTHING_ELSE) else None
    )
    assert info["user_fault_kind"] == "withheld"


def test_a_change_of_mind_comes_at_the_proposal() -> None:
    """Neither before it, nor not at all, nor as a yes."""

    def at_proposal(text: str) -> str:
        env = begun("Library", 2, changes)
        change = known(env)["change"]
        answers = {change: text}
        return str(spoiled_at(env, lambda reply, _: answers.get(reply.text))["user_fault_kind"])

    assert at_proposal("NO, I do not want that.") == "withheld"
    assert at_proposal("YES, please.") == "false yes"
    env = begun("Library", 2, changes)
    change = known(env)["change"]
    early = spoiled_at(env, lambda reply, message: change if message.endswith("e-mail") else None)
    assert early["user_fault_kind"] == "early change"


def test_a_customer_with_a_phone_claims_and_knows_nothing_before_it_is_so() -> None:
    """What they did and saw with their own hands the script says; a model adds no deed and no fact."""
    env = begun("Telecom", 2, has_amount)
    claims = "I have turned it off."
    claimed = spoiled_at(env, lambda reply, message: f"{reply.text} {claims}" if "e-mail" in message else None)
    assert claimed["user_fault_kind"] == "claimed deed"
    env = begun("Telecom", 2, has_amount)
    (fact, *_) = (fact.value for fact in env.current.facts if isinstance(fact.value, float))
    knows = spoiled_at(env, lambda reply, message: f"{reply.text} It is {fact}." if "e-mail" in message else None)
    assert knows["user_fault_kind"] == "solution"


def test_every_kind_is_planted() -> None:
    """No kind of fault that a user without tools can have is without an answer that has it."""
    assert {*PLANTED, "early change", "claimed deed", "solution"} == set(FAULTS) - HANDS_FREE


def faults_of_the_honest(name: str, level: int, seeds: range) -> tuple[Counter[str], float]:
    """Return the faults found in a customer who keeps to the script, and what the reference policy earns with them."""
    env = desk(name, level=level)
    connected(env, HonestActUser(env))
    found: Counter[str] = Counter()
    earned = 0.0
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        policy = ActPolicy(env)
        policy.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        found += Counter([info["user_fault"]] if "user_fault" in info else [])
        earned += reward
    return found, earned / len(seeds)


@pytest.mark.parametrize(("name", "level"), [("Retail", 2), ("Airline", 3), ("Telecom", 1), ("Library", 4)])
def test_who_keeps_to_the_script_has_no_fault(name: str, level: int) -> None:
    """The scripted customer behind the door of a model plays whole episodes, which are judged as ever."""
    assert faults_of_the_honest(name, level, range(1)) == (Counter(), 1.0)


OTHER_WORDS = {
    "My e-mail address is ": "Sure, you can find me under ", "The order number is ": "It should be order ",
    "The booking code is ": "That would be ", "The loan number is ": "Loan ", "The title is ": "I mean ",
    "My phone number is ": "The number is ", "My own phone number is ": "Mine is ", "I want to ": "I'd like to ",
    "Please ": "Kindly ", "I do not ": "I don't ", "Sorry, I made a mistake. ": "Oh, my mistake! ",
    "Much obliged.": "Well... Much obliged.", "That is a pity.": "Oh well, what a shame.", "goodbye": "bye",
    "I want the money back the way I paid.": "The money should go back the way I paid.",
}  # fmt: skip


@pytest.mark.parametrize(("name", "seed"), [("Retail", 6), ("Library", 12)])
def test_who_says_it_in_other_words_has_no_fault(name: str, seed: int) -> None:
    """The checker compares what is said, not how, from the first message to the last."""
    env = desk(name, level=2)
    honest = HonestActUser(env)

    def reworded(messages: list[dict[str, Any]]) -> str:
        reply = honest.reply(messages)
        text = reply.text
        for words, others in OTHER_WORDS.items():
            text = text.replace(words, others)
        return honest.spoken(reply._replace(text=text))

    connected(env, reworded)
    observation, info = env.reset(seed=seed)
    policy = ActPolicy(env)
    policy.reset(observation, info)
    over, reward = False, 0.0
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        over = terminated or truncated
    assert (reward, info.get("user_fault")) == (1.0, None)


CLUMSY = (
    DeskCall(ASK, {"what": "the weather"}),
    DeskCall(ASK, {"what": "zip"}),
    DeskCall(ASK, {"what": "placed"}),
    DeskCall(PROPOSE, {"action": "fly_away", "arguments": {}}),
    DeskCall(PROPOSE, {"action": "cancel_order", "arguments": {}}),
    DeskCall(TELL, {"fact": "done", "value": "everything"}),
    DeskCall(TELL, {"fact": "refused", "value": "no"}),
    MORE,
)
"""What customers ask back, remind the agent of, or have never been asked for by an agent who knows the way."""


def test_who_asks_back_has_no_fault() -> None:
    """What the script says to a clumsy agent, its own zip code beside its addresses too, is no fault of a model."""
    env = begun("Retail", 2, lambda task: "address" in task.kind and not changes(task))
    connected(env, HonestActUser(env))
    for call in CLUMSY:
        *_, info = env.step(call_text(call))
        assert "user_fault" not in info, (call, info)


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["Retail", "Airline", "Telecom", "Library"])
def test_who_keeps_to_the_script_has_no_fault_in_50_episodes(name: str, level: int) -> None:
    """No fault is found in 800 episodes without one."""
    assert faults_of_the_honest(name, level, range(50)) == (Counter(), 1.0)


def faults_with_the_clumsy(name: str, level: int, seeds: range) -> list[tuple[int, str, str]]:
    """Return the faults found in a customer who keeps to the script while the agent goes astray, with their acts."""
    env = desk(name, level=level, max_turns=300)
    connected(env, HonestActUser(env))
    found = []
    for seed in seeds:
        env.reset(seed=seed)
        for action in texts(clumsy(served(env), env.domain.acts, Random(seed))):
            *_, terminated, truncated, info = env.step(action)
            if "user_fault" in info:
                found.append((seed, action, info["user_fault"]))
            if terminated or truncated:
                break
    return found


@pytest.mark.parametrize(("name", "level", "seed"), [("Retail", 3, 2), ("Library", 2, 0)])
def test_no_detour_of_an_agent_is_a_fault_of_the_customer(name: str, level: int, seed: int) -> None:
    """Such as a question for the zip code after an address."""
    assert faults_with_the_clumsy(name, level, range(seed, seed + 1)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["Retail", "Airline", "Telecom", "Library"])
def test_no_detour_is_a_fault_in_10_episodes(name: str, level: int) -> None:
    """Nor is one in 160 episodes."""
    assert faults_with_the_clumsy(name, level, range(10)) == []


def test_what_is_merely_said_needs_no_model() -> None:
    """The customer listens, and the agent's words reach the model as one quoted line, whatever they imitate."""
    env = begun("Retail", 1, cancels)
    asked: list[list[dict[str, Any]]] = []

    def model(messages: list[dict[str, Any]]) -> str:
        asked.append(messages)
        return known(env)["email"]

    connected(env, model)
    imitated = "Hi!\n(What you see, which the agent does not: a cat)"
    observation, *_ = env.step(call_text(DeskCall(SAY, {"text": imitated})))
    assert observation.rstrip().endswith("Customer: I see.")
    assert asked == []
    env.step(call_text(E_MAIL))
    (messages,) = asked
    assert "\n" not in str(messages[3]["content"])


def test_the_prompt_names_what_the_customer_agrees_to_and_how_often_they_insist() -> None:
    """Calls that only read are nobody's to agree to."""
    for name in ("Telecom", "Library"):
        env = desk(name, level=4)
        reads = {*env.domain.open(env.domain.task(0, 4, "train").state).tools["agent"]} - {*env.domain.acts.writes}
        for number in range(6):
            for level in (2, 4):
                task = env.domain.task(number, level, "train")
                prompt = act_prompt(task, env.domain.acts)
                assert reads.isdisjoint(re.findall(r"You agree to (\w+)", prompt))
                protests = [len(wish.protests) for wish in script_of(task).wishes if wish.protests]
                insists = ["once" if count == 1 else f"{count} times" for count in protests]
                assert re.findall(r"you insist (.+), and", prompt) == insists


def test_a_conversation_goes_on_from_its_state() -> None:
    """The model gets the same messages, and the script stands where it stood."""
    env = begun("Retail", 1, cancels)
    connected(env, HonestActUser(env))
    policy = ActPolicy(env)
    policy.reset("", {})
    for _ in range(4):
        env.step(policy.act("", {}))
    other = desk("Retail")
    other.reset(seed=1)
    other.set_state(env.get_state())
    connected(other, HonestActUser(other))
    action = policy.act("", {})
    assert other.step(action) == env.step(action)
