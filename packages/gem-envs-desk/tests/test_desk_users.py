"""Simulated users: scripted ones, and models, whose faults are found and masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stand_in_users import HonestUser, connected

import gem
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.reference import DeskPolicy, call_text
from gem_envs_desk.task import DeskCall, Hand, Slot, UserScript, Wish
from gem_envs_desk.users.scripted import ScriptedUser

SCRIPT = UserScript(
    "Hello.",
    (
        Wish("I want to move.", change="No, I would rather stay.", slots=(
            Slot("order", ("order number",), "It is R12345.", wrong="It is R12300."),
            Slot("place", ("address", "date"), "To Elm Street.", after_change="Nowhere."),
        )),
        Wish("I want a present.", protest="But I must have it!"),
    ),
    (Slot("e-mail", ("e-mail", "email"), "It is ada@mail.example."),),
    (Hand(("turn+lamp+off",), DeskCall("lamp", {}, "user"), "Please turn the lamp off."),),
    patience=3,
)  # fmt: skip


def user() -> ScriptedUser:
    """Return the user of the script; their lamp answers."""
    return ScriptedUser(SCRIPT, lambda call: f"({call.tool} used)")


@pytest.mark.parametrize(
    ("messages", "last"),
    [
        (["Could you tell me your e-mail, please?"], "It is ada@mail.example."),
        (["Please give me your order number and your email."], "It is R12300. It is ada@mail.example."),
        (["What is the order number?"] * 2, "Sorry, I made a mistake. It is R12345."),
        (["What is the order number?"] * 3, "It is R12345."),
        (["What is the order number?", "It is R12300. Shall I proceed?"], "Sorry, I made a mistake. It is R12345."),
        (["What is the order number?", "It is R12345, right?"], "Yes, that is right."),
        (["What is the order number?", "It is R12345, right?", "So what is the order number?"], "It is R12345."),
        (["Your order number R12345 is fine. Shall I proceed?"], "No, I would rather stay."),
        (
            ["Shall I proceed?", "Shall I proceed?"],
            "Please do just what I have asked for. Nowhere.",
        ),
        (["Shall I proceed?", "To which address do you want it?"], "Nowhere."),
        (["What address?"], "To Elm Street."),
        (["Please turn the lamp off."], "(lamp used)"),
        (["The lamp is off."], "All right."),
        (["Which lamp?"], "I am not sure what you need from me. I want to move."),
        (["Shall I proceed?", "Which?"], "I am not sure what you need from me. Nowhere."),
        (["What is your date of birth?"], "I cannot tell you that."),
        (["Is there anything else?"], "You have not told me anything about it yet."),
        (["That is done. Is there anything else?"], "Yes, there is. I want a present."),
        (["Done. Anything else?", "I am sorry, I cannot do that."], "But I must have it!"),
        (["Done. Anything else?", "I cannot do that.", "It is not possible."], "That is a pity."),
        (["Done. Anything else?"] * 2, "No, that was all. Thank you, goodbye."),
        (["Please confirm your e-mail."], "It is ada@mail.example."),
        (["Hm.", "What is the order number?", "Hm."] * 2, "All right."),
        (["Hm."] * 3, "This takes too long, and I have no more time for it. Goodbye."),
        (["I’m afraid I can’t find it. What’s your order number?"] * 2, "Sorry, I made a mistake. It is R12345."),
    ],
)  # fmt: skip
def test_what_the_scripted_user_says(messages: list[str], last: str) -> None:
    """The user reveals on request, corrects themselves, changes their mind, insists, gets impatient and leaves."""
    one = user()
    replies = [one.reply(message) for message in messages]
    assert replies[-1].text == last
    assert replies[-1].ends == ("goodbye" in last.lower())
    assert not any(reply.ends or reply.fault for reply in replies[:-1])


def test_the_memory_of_the_user_is_their_state() -> None:
    """A user with the state of another answers alike."""
    one, other = user(), user()
    messages = ["What is the order number?", "Hm.", "Shall I proceed?", "What is the order number?", "Hm.", "Hm."]
    for index, message in enumerate(messages):
        other.set_state(one.get_state())
        assert other.reply(message) == one.reply(message), index


def desk(name: str, answers: Callable[[list[dict[str, Any]]], Any]) -> DeskEnv:
    """Return a desk whose user is a model that answers by a function."""
    clients = pytest.importorskip("gem_eval.clients")
    env = gem.make(name, user="scripted:unused")
    assert isinstance(env, DeskEnv)
    env._model.client = clients.ScriptedClient(answers)
    return env


def test_a_model_can_be_the_user() -> None:
    """The model sees the script, talks in turn, and ends the episode, which is graded as ever."""
    env = desk("desk:Airline-v0", str)
    connected(env, HonestUser(env))
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        script = env.current.script
        assert script is not None
        assert script.wishes[0].says in observation
        policy = DeskPolicy(env)
        policy.reset(observation, info)
        env.step("Shall I go ahead?")
        over, reward = False, 0.0
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        assert (reward, info["success"]) == (1.0, True)
        assert "user_fault" not in info
    prompt = env._model.client.prompts[0][0]["content"]
    assert "###STOP###" in prompt
    assert "booking code" in prompt


def test_a_model_uses_the_phone() -> None:
    """In dual control the model calls the user's tools, and tells the agent what it sees."""
    answers: list[Any] = []
    env = desk("desk:Telecom-v0", lambda messages: answers.pop(0))
    seed = next(seed for seed in range(100) if env.reset(seed=seed) and env.current.kind == "airplane mode")
    env.reset(seed=seed)
    number = env.current.gold[0].arguments["phone_number"]
    off = {"phone_number": number, "switch": "airplane_mode", "on": False}
    answers += [call_text(DeskCall("set_switch", off)), "It is off now.", "###STOP###"]
    assert "Customer: It is off now." in env.step("Please turn airplane mode off.")[0]
    assert env.step("Is there anything else?")[1] == 1.0


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ("", "says nothing"),
        ("###STOP###", "leaves at the first answer"),
        ("Just call cancel_booking for me.", "names the agent's tool"),
        ("My code is QQQ98765.", "invents 'QQQ98765'"),
        ("Write to someone@else.example.", "invents 'someone@else.example'"),
        ("a" * 3000, "more than 2000"),
        (RuntimeError("no server"), "gives no answer: no server"),
        ('<tool_call>{"name": "x", "arguments": {}}</tool_call>', "does not stop calling"),
    ],
    ids=["nothing", "stop", "tool", "code", "address", "length", "server", "calls"],
)
def test_a_fault_of_the_user_is_masked(says: Any, why: str) -> None:
    """Such an episode is truncated, pays nothing, says why, and neither trainers nor evaluations count it."""
    env = desk("desk:Airline-v0", lambda messages: says)
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step("What can I do for you?")
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    assert why in info["user_fault"]


def test_a_user_who_knows_the_answer_is_a_fault() -> None:
    """A user who says a fact that the agent has yet to find gives the solution away; afterwards it is no secret."""
    env = desk("desk:Airline-v0", lambda messages: f"So I pay {env.current.facts[0].value:.2f}?")
    seed = next(seed for seed in range(100) if env.reset(seed=seed) and env.current.kind == "upgrade")
    env.reset(seed=seed)
    assert "has yet to find" in env.step("One moment, please.")[4]["user_fault"]
    env.reset(seed=seed)
    assert "user_fault" not in env.step(f"You pay {env.current.facts[0].value}. Shall I go ahead?")[4]


def test_trainers_and_evaluations_leave_spoiled_episodes_out() -> None:
    """The recorded episode is not gradable for gem-rl, and a failure of the user for gem-eval."""
    turn_batch = pytest.importorskip("gem_rl.turn_batch")
    rows = pytest.importorskip("gem_eval.runs.episode_row")
    from gem.policies import ScriptedPolicy
    from gem_rollout import rollout

    # A model that repeats the whole prompt, the word to stop included.
    spec = gem.spec("desk:Airline-v0").with_kwargs({"user": "scripted:builtins:str"})
    (episode,) = rollout([spec], lambda env: ScriptedPolicy(["Hello!"]), num_envs=1, episodes=1)
    assert "speaks of the prompt" in episode.transitions[-1].info["user_fault"]
    assert not turn_batch.is_gradable(episode)
    assert rows.EpisodeRow.of_trajectory(episode).failure == {"source": "user", "kind": "spoiled"}
