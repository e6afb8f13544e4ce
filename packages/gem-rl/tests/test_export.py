"""Episodes as data sets for other trainers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gem
import gem_rl
from gem.errors import ArgumentError
from gem.policies import Act
from gem_rl.adapters import trainer_rows
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder


def play(*turns: tuple[Any, Any, float], first: Any = "Begin.", seed: int = 0, repetition: int = 0) -> Trajectory:
    """Return an episode of these actions, observations and rewards; it succeeded if it earned something."""
    builder = TrajectoryBuilder(None, seed, repetition=repetition)
    builder.begin(first, {})
    for place, (action, observation, reward) in enumerate(turns):
        last = place == len(turns) - 1
        builder.add(action, observation, reward, last, False, {"success": reward > 0} if last else {})
    return builder.finish()


def said(messages: list[dict[str, Any]]) -> str:
    """Return messages as one line."""
    return " ".join(f"{message['role'][0]}:{message['content']}" for message in messages)


def test_observations_and_actions_alternate() -> None:
    """The observation after the last action comes only if asked for."""
    episode = play(("a", "Go on.", 0.0), ("b", "Won.", 1.0))
    assert said(gem_rl.conversation(episode)) == "u:Begin. a:a u:Go on. a:b"
    assert said(gem_rl.conversation(episode, final=True)) == "u:Begin. a:a u:Go on. a:b u:Won."


@pytest.mark.parametrize("wrapper", ["messages", "concat_with_action", "concat"])
def test_a_history_appears_once(wrapper: str) -> None:
    """Under every history wrapper of gem-core, a real game has the conversation that it has without one."""
    pytest.importorskip("gem_envs_games")
    found = []
    for wrappers in ([], [wrapper]):
        env = gem.make("game:GuessTheNumber-v0-easy", wrappers=wrappers)
        observation, info = env.reset(seed=3)
        builder = TrajectoryBuilder(env.spec, 3)
        builder.begin(observation, info)
        for guess in (1, 2, 3, 4):
            if not builder.over:
                action = f"I say \\boxed{{{guess}}}"
                builder.add(action, *env.step(action))
        found.append(gem_rl.conversation(builder.finish(), final=True))
    spoken = [[(one["role"], str(one["content"]).strip()) for one in messages] for messages in found]
    assert spoken[0] == spoken[1]


def test_reasoning_and_tool_calls_stay() -> None:
    """An assistant message keeps its fields, and recorded reasoning is added."""
    call = {
        "content": "",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    episode = play((call, "4", 0.0), (Act("4", reasoning="2 and 2"), "Right.", 1.0))
    messages = gem_rl.conversation(episode)
    assert messages[1] == {"role": "assistant", **call}
    assert messages[3] == {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}


def test_a_rewritten_history_begins_anew() -> None:
    """As under a sliding window: the last prompt and what followed it."""
    first = [{"role": "user", "content": "1"}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "2"}]
    window = [{"role": "user", "content": "2"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "3"}]
    episode = play(("b", window, 0.0), ("c", None, 1.0), first=first)
    assert said(gem_rl.conversation(episode)) == "u:2 a:b u:3 a:c"


def test_what_is_imitated() -> None:
    """Successful episodes by default, and never failed ones."""
    won, lost = play(("a", "Won.", 1.0)), play(("b", "Lost.", 0.0))
    assert [said(row["messages"]) for row in gem_rl.sft_rows([won, lost])] == ["u:Begin. a:a"]
    everything = list(gem_rl.sft_rows([won, lost], keep=lambda one: True))
    assert [row["return"] for row in everything] == [1.0, 0.0]


def test_pairs_of_one_initial_state() -> None:
    """Best with worst, second best with second worst; equal ones make no pair, and seeds do not mix."""
    rollouts = [play((name, "", value), seed=7, repetition=place) for place, (name, value) in enumerate(
        (("c", 0.5), ("a", 0.0), ("d", 1.0), ("b", 0.25))
    )]  # fmt: skip
    other = [play(("x", "", 1.0), seed=8), play(("y", "", 1.0), seed=8, repetition=1), play(("z", "", 9.0), seed=9)]
    rows = list(gem_rl.preference_rows([*other, *rollouts]))
    assert [(said(row["prompt"]), said(row["chosen"]), said(row["rejected"])) for row in rows] == [
        ("u:Begin.", "a:d", "a:a"),
        ("u:Begin.", "a:c", "a:b"),
    ]
    assert [row["seed"] for row in gem_rl.preference_rows(rollouts, margin=0.3)] == ["7"]


def test_what_a_world_model_foresees() -> None:
    """Each answer of the environment after everything before it."""
    rows = list(gem_rl.world_model_rows([play(("a", "Go on.", 0.5), ("b", "Won.", 1.0))]))
    assert [(said(row["prompt"]), said(row["completion"]), row["reward"], row["terminated"]) for row in rows] == [
        ("u:Begin. a:a", "u:Go on.", 0.5, False),
        ("u:Begin. a:a u:Go on. a:b", "u:Won.", 1.0, True),
    ]


def sampled(last: list[float] | None = None) -> Trajectory:
    """Return an episode with token ids, whose second prompt continues the first."""
    return play(
        (Act("a", prompt_token_ids=[1, 2], token_ids=[3, 4], logprobs=[-0.5, -0.25]), "Go on.", 0.5),
        (Act("b", prompt_token_ids=[1, 2, 3, 4, 5], token_ids=[6], logprobs=last), "Won.", 1.0),
    )


def test_rows_for_reinforcement_learning() -> None:
    """Sampled ids with masks, the reward at the last token of its turn, the advantage at each."""
    (row,) = gem_rl.rl_rows([sampled([-0.125])], np.array([2.0, -1.0]))
    assert row["input_ids"] == [1, 2, 3, 4, 5, 6]
    assert row["action_mask"] == [0, 0, 1, 1, 0, 1]
    assert row["observation_mask"] == [0, 0, 0, 0, 1, 0]
    assert row["logprobs"] == [0.0, 0.0, -0.5, -0.25, 0.0, -0.125]
    assert row["rewards"] == [0.0, 0.0, 0.0, 0.5, 0.0, 1.0]
    assert row["advantages"] == [0.0, 0.0, 2.0, 2.0, 0.0, -1.0]
    for wrong in (np.zeros(1), np.zeros(3)):
        with pytest.raises(ArgumentError, match=f"{wrong.size} advantages"):
            list(gem_rl.rl_rows([sampled()], wrong))


@pytest.mark.parametrize("last", [None, [float("nan")]])
def test_a_log_probability_that_was_not_measured_is_not_written(last: list[float] | None) -> None:
    """0.0 would say that the token was certain."""
    (row,) = gem_rl.rl_rows([sampled(last)])
    assert row["logprobs"] is None
    (of_trainer,) = trainer_rows(sampled(last))
    assert of_trainer.logprobs is None


def characters(messages: list[dict[str, Any]], generate: bool) -> list[int]:
    """Render messages as characters; reasoning is shown in the latest answer alone, as Qwen 3 does."""
    text = ""
    for place, message in enumerate(messages):
        latest = all(later["role"] != "user" for later in messages[place:])
        thought = f"({message['reasoning_content']})" if latest and "reasoning_content" in message else ""
        text += f"<{message['role'][0]}>{thought}{message['content']};"
    return [ord(character) for character in text + ("<a>" if generate else "")]


def learnt(row: dict[str, Any]) -> str:
    assert len(row["input_ids"]) == len(row["labels"])
    for token, label in zip(row["input_ids"], row["labels"], strict=True):
        assert label in (token, -100)
    return "".join(chr(label) if label != -100 else "_" for label in row["labels"])


def test_any_tokenizer_labels_the_answers() -> None:
    """One row for the episode, in which the agent's words alone have labels."""
    (row,) = gem_rl.sft_token_rows([play(("ab", "Go.", 0.0), ("c", "Won.", 1.0))], characters)
    assert "".join(map(chr, row["input_ids"])) == "<u>Begin.;<a>ab;<u>Go.;<a>c;"
    assert learnt(row) == "_" * len("<u>Begin.;<a>") + "ab;" + "_" * len("<u>Go.;<a>") + "c;"


def test_a_template_that_rewrites_the_past_makes_rows() -> None:
    """Each answer once, after the prompt that a server would have sent."""
    episode = play((Act("ab", reasoning="x"), "Go.", 0.0), (Act("c", reasoning="y"), "Won.", 1.0))
    first, second = gem_rl.sft_token_rows([episode], characters)
    assert "".join(map(chr, first["input_ids"])) == "<u>Begin.;<a>(x)ab;"
    assert "".join(map(chr, second["input_ids"])) == "<u>Begin.;<a>ab;<u>Go.;<a>(y)c;"
    assert learnt(first).strip("_") == "(x)ab;"
    assert learnt(second).strip("_") == "(y)c;"


def test_a_template_that_breaks_its_own_prompt_is_named() -> None:
    """Training on it would teach another prompt than the one that is sent."""
    with pytest.raises(ArgumentError, match="does not continue its own prompt at message 1"):
        list(
            gem_rl.sft_token_rows([play(("a", "Won.", 1.0))], lambda messages, generate: [len(messages), int(generate)])
        )


def test_rows_become_parquet(tmp_path: Any) -> None:
    """And come back as they were."""
    datasets = pytest.importorskip("datasets")
    rows = list(gem_rl.rl_rows([sampled(), sampled()]))
    path = tmp_path / "rows.parquet"
    gem_rl.to_rows_dataset(rows).to_parquet(path)
    assert datasets.Dataset.from_parquet(str(path), cache_dir=str(tmp_path)).to_list() == rows
    with pytest.raises(ArgumentError, match="no row"):
        gem_rl.to_rows_dataset([])
