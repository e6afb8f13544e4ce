"""A model as the colleagues: its words are held to the script, and its faults spoil the episode and not the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from gem.errors import ArgumentError
from gem_envs_office.colleague_model import MARKS, reply_fault
from gem_envs_office.colleagues import ColleagueReply
from gem_envs_office.env import OfficeEnv
from gem_envs_office.reference import OfficePolicy
from gem_rollout.simulated_people.faults import FAULTS

pytest.importorskip("gem_eval.clients")

Messages = list[dict[str, Any]]
SCRIPTED_TEXT = re.compile(r"into your own words:\n(.+?)\n\nWrite one", re.DOTALL)
MARK = re.compile(r"Begin with the word (\w+)\.")


def honest(messages: Messages) -> str:
    """Say what the script says, with a word of one's own before it."""
    prompt = messages[0]["content"]
    text, mark = SCRIPTED_TEXT.search(prompt), MARK.search(prompt)
    assert text is not None
    assert mark is not None
    return f"<think>Hm.</think>{mark[1]}: Well, {text[1]}"


def connected(answers: Callable[[Messages], Any], family: str = "Refund") -> OfficeEnv:
    """Return an office whose colleagues a stand-in plays."""
    from gem_eval.clients import ScriptedClient

    env = OfficeEnv(family=family, colleagues="scripted:nobody:answer")
    env._model.client = ScriptedClient(answers)
    return env


def played(env: OfficeEnv, seed: int = 1) -> tuple[float, Any, str]:
    """Play the golden plan; return the reward, the last info and all observations."""
    env.reset(seed=seed)
    policy = OfficePolicy(env)
    policy.reset("", {})
    seen, observation, done = [], "", False
    while not done:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, {}))
        seen.append(observation)
        done = terminated or truncated
    return reward, info, "\n".join(seen)


@pytest.mark.parametrize("family", ["Refund", "Onboarding"])
def test_an_honest_model_changes_words_alone(family: str) -> None:
    """The plan earns what it earns with the scripted colleagues, and the agent reads the model."""
    reward, info, seen = played(connected(honest, family))
    assert reward == 1.0
    assert "user_fault" not in info
    assert "Well, " in seen
    assert "Hm." not in seen
    assert not any(f"{mark}:" in seen for mark in MARKS.values())


def test_a_model_behind_a_socket_plays_the_colleagues() -> None:
    """By the URL of its server."""
    from gem_eval.fake_model import FakeModel, FakeModelThread

    with FakeModelThread(FakeModel(lambda request: honest(request.messages))) as model:
        env = OfficeEnv(family="Refund", colleagues=model.url)
        reward, _, seen = played(env)
        env.close()
    assert reward == 1.0
    assert "Well, " in seen


def faulty(change: Callable[[str], Any]) -> Callable[[Messages], Any]:
    return lambda messages: change(honest(messages))


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (faulty(lambda text: 1 / 0), "no answer"),
        (faulty(lambda text: ""), "silence"),
        (faulty(lambda text: text.partition(": ")[2]), "contradiction"),
        (faulty(lambda text: f"{text} My instructions say so."), "prompt"),
        (faulty(lambda text: f"{text} And take 4711 too."), "invention"),
        (faulty(lambda text: f"{text} As an AI, I like that."), "agent's part"),
        (faulty(lambda text: text + " indeed" * 500), "too long"),
    ],
)
def test_a_fault_of_the_model_ends_the_episode_and_is_masked(answers: Callable[[Messages], Any], kind: str) -> None:
    """With its kind in ``info``, whatever the agent has done."""
    reward, info, seen = played(connected(answers))
    assert (reward, info["user_fault_kind"], info["success"]) == (0.0, kind, False)
    assert info["user_fault"].startswith("the user")
    assert "Your colleague has left." in seen
    assert kind in FAULTS


APPROVED = ColleagueReply("approved", "Approved, as A101.")
REFUSED = ColleagueReply("refused", "I may not approve that. The policy says who may.")
PROMISED = ColleagueReply("promised", "I will look at it today.")
KNOWN = ColleagueReply("known", "The buddy is Ada Holm, who begins on 2026-03-02.")
DONE = ColleagueReply("done", 'Done: {"access_id": "X7"}')
UNKNOWN = ColleagueReply("unknown", "That I do not know.")


@pytest.mark.parametrize(
    ("reply", "text", "kind"),
    [
        (APPROVED, "Fine with me, it has the key A101.", None),
        (APPROVED, "Fine with me.", "withheld"),
        (APPROVED, "I do not approve A101.", "contradiction"),
        (APPROVED, "Fine with me, A101 for 500 euros.", "invention"),
        (REFUSED, "Sorry, I may not approve this; have a look at the policy, which says who may.", None),
        (REFUSED, "Sure, I approve, and the policy says that I may.", "contradiction"),
        (PROMISED, "I'll have a look this afternoon.", None),
        (PROMISED, "It is done, and I will look again.", "claimed deed"),
        (PROMISED, "A good question.", "withheld"),
        (KNOWN, "Her buddy is Ada Holm. She begins on 2026-03-02.", None),
        (KNOWN, "Her buddy is Tom Holm, who begins on 2026-03-02.", "withheld"),
        (KNOWN, "Ada Holm, 2026-03-02.", "withheld"),
        (KNOWN, "The buddy is Ada Holm, who begins on 2026-03-03.", "withheld"),
        (DONE, "Done, you have access X7 now.", None),
        (DONE, "I could not do that, X7.", "contradiction"),
        (DONE, "Just use grant_access for X7.", "agent's tool"),
        (UNKNOWN, "No idea, I am afraid.", None),
        (UNKNOWN, "Ask somebody who was there.", "contradiction"),
        (UNKNOWN, "Das weiß ich leider nicht, frag bitte jemand anderen danach.", "other language"),
    ],
)
def test_words_are_compared_with_the_reply(reply: ColleagueReply, text: str, kind: str | None) -> None:
    """All of its data and no other, yes for yes, a promise for a promise."""
    fault = reply_fault(text, reply, 'request approval: {"about": "T104"}')
    assert (None if fault is None else fault.kind) == kind, fault


def test_states_replay_without_the_model() -> None:
    """What was done is in the state, so that nobody asks the model for it again."""
    env, twin = connected(honest), connected(faulty(lambda text: 1 / 0))
    env.reset(seed=1)
    policy = OfficePolicy(env)
    policy.reset("", {})
    while not env.world.store.query("SELECT * FROM approvals WHERE requester_id = ?", [env.current.agent_id]):
        env.step(policy.act("", {}))
    twin.set_state(json.loads(json.dumps(env.get_state())))
    for table in ("approvals", "audit_log", "colleague_requests"):
        rows = f"SELECT * FROM {table}"
        assert twin.world.store.query(rows) == env.world.store.query(rows)
    assert twin.user_fault == ""


def test_wrong_colleagues_are_refused() -> None:
    """A word is no address; what cannot be asked is a fault that says why."""
    with pytest.raises(ArgumentError, match="colleagues must be 'scripted' or the URL"):
        OfficeEnv(colleagues="model")
    env = OfficeEnv(family="Refund", colleagues="telepathy:mind")
    _, info, _ = played(env)
    assert info["user_fault_kind"] == "no answer"
    assert "telepathy" in info["user_fault"]
