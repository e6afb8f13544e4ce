"""The grader and composites as the functions that TRL, verl and verifiers call.

TRL and verl bring torch, so their calls are made here as their sources make them: ``GRPOTrainer._calculate_rewards``
of TRL at f2cd5771 (2026-07-24), ``NaiveRewardManager.run_single`` and ``get_custom_reward_fn`` of verl at b178a3cd
(2026-01-29). The ``Rubric`` of verifiers (0.3.1) is the real one where it is installed; elsewhere its calls are made
as it makes them.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gem_envs_math
from gem.errors import ArgumentError, ArgumentTypeError, MissingPluginError
from gem_envs_math import trainers
from gem_questions.rewards import Reward, Score, trl_reward, verifiers_reward, verl_reward

WEIGHTED = {
    "name": "composite",
    "combine": "sum",
    "of": [{"name": "math", "weight": 1.0}, {"name": f"{__name__}:Brevity", "label": "brevity", "weight": 0.5}],
}


class Brevity(Reward):
    """1.0 for at most five words."""

    def score(self, trajectory: Any) -> Score:
        return Score(float(len(str(trajectory.transitions[-1].action).split()) <= 5))


class Judge(Reward):
    """Asks somebody, later; cannot tell about an empty answer."""

    async def score(self, trajectory: Any) -> Score:
        await asyncio.sleep(0)
        said = str(trajectory.transitions[-1].action)
        return Score(float(trajectory.metadata["answer"] in said)) if said else Score.unreadable("nothing to judge")


def calculate_rewards(reward_funcs: list[Any], inputs: list[dict[str, Any]], completions: list[Any]) -> list[list[Any]]:
    """Call reward functions with the arguments that TRL's trainer gives them."""
    prompts = [example["prompt"] for example in inputs]
    keys = [key for key in inputs[0] if key not in ("prompt", "completion", "completion_ids")]
    columns: dict[str, Any] = {key: [example[key] for example in inputs] for key in keys}
    columns.update(trainer_state=SimpleNamespace(global_step=3), log_extra=lambda *_: None, log_metric=lambda *_: None)
    ids = [[1, 2, 3] for _ in completions]
    rewards = []
    for function in reward_funcs:
        assert not inspect.iscoroutinefunction(function)
        assert isinstance(function.__name__, str)
        paid = function(prompts=prompts, completions=completions, completion_ids=ids, **columns)
        rewards.append([math.nan if reward is None else reward for reward in paid])
    return rewards


QUESTIONS = ["What is 6 times 7?", "What is half of 1?", "What is 2 + 2?"]
GOLDS = ["42", "\\frac{1}{2}", "4"]
SAID = ["It is \\boxed{42}.", "\\boxed{0.5}", "I have thought about it, and it must be \\boxed{5}."]


def test_trl_gets_a_reward_for_each_text() -> None:
    """Texts and right answers by their column; also when the column has another name, and with weights."""
    inputs = [{"prompt": q, "answer": gold, "level": 1} for q, gold in zip(QUESTIONS, GOLDS, strict=True)]
    renamed = [{"prompt": row["prompt"], "solution": row["answer"]} for row in inputs]
    assert calculate_rewards([gem_envs_math.grpo_reward, trl_reward(WEIGHTED)], inputs, SAID) == [
        [1.0, 1.0, 0.0],
        [1.5, 1.5, 0.0],
    ]
    assert calculate_rewards([trl_reward("math", answer="solution")], renamed, SAID) == [[1.0, 1.0, 0.0]]
    assert [trl_reward("math").__name__, trl_reward(WEIGHTED).__name__, trl_reward("math", name="x").__name__] == [
        "math",
        "composite",
        "x",
    ]


def test_trl_gets_a_reward_for_each_conversation() -> None:
    """Chat messages, with content as text or as parts; of several turns with tools between them, the last counts."""
    inputs = [{"prompt": [{"role": "user", "content": q}], "answer": g} for q, g in zip(QUESTIONS, GOLDS, strict=True)]
    completions: list[Any] = [
        [{"role": "assistant", "content": SAID[0]}],
        [{"role": "assistant", "content": [{"type": "text", "text": SAID[1]}]}],
        [
            {"role": "assistant", "content": "\\boxed{5}, or not?"},
            {"role": "tool", "content": "4"},
            {"role": "assistant", "content": "\\boxed{4}"},
        ],
    ]
    assert calculate_rewards([trainers.grpo_reward], inputs, completions) == [[1.0, 1.0, 1.0]]


def test_trl_can_mask_what_the_reward_cannot_tell() -> None:
    """None becomes NaN in TRL, which leaves the row out; by default it pays 0.0. Async rewards run side by side."""
    inputs = [{"prompt": "?", "answer": "yes"}] * 3
    functions = [trl_reward(Judge(), unreadable=None), trl_reward(Judge())]
    masked, paid = calculate_rewards(functions, inputs, ["yes", "no", ""])
    assert masked[:2] == [1.0, 0.0]
    assert math.isnan(masked[2])
    assert paid == [1.0, 0.0, 0.0]


def test_a_missing_column_is_an_error_that_names_the_others() -> None:
    """So is a list of another length, which is no column."""
    with pytest.raises(ArgumentError, match=r"no column 'answer' .* it has 'gold'.*answer='solution'"):
        trainers.grpo_reward(prompts=["a", "b"], completions=["x", "y"], gold=["1", "2"], other=["1"])
    with pytest.raises(ArgumentError, match="1 prompts and 2 completions"):
        trainers.grpo_reward(prompts=["a"], completions=["x", "y"], answer=["1", "2"])
    with pytest.raises(ArgumentTypeError, match="a completion is"):
        trainers.grpo_reward(prompts=["a"], completions=[7], answer=["1"])
    with pytest.raises(MissingPluginError, match="maths"):
        trl_reward("maths")(prompts=["a"], completions=["b"], answer=["c"])


def test_verl_finds_the_function_in_a_file_and_gets_a_dict() -> None:
    """As its reward managers load it, bind further arguments, and call it in threads."""
    assert trainers.__file__ is not None
    found = importlib.util.spec_from_file_location("custom_module", Path(trainers.__file__))
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    def call_with_kwargs(raw_fn: Any, extra: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        return raw_fn(*args, **{**kwargs, **extra})

    compute_score = partial(call_with_kwargs, module.compute_score, {"reward_router_address": "none"})
    rows = [
        {
            "data_source": "math",
            "solution_str": said,
            "ground_truth": gold,
            "extra_info": {"question": question, "num_turns": None, "rollout_reward_scores": {}},
        }
        for question, said, gold in zip(QUESTIONS, SAID, GOLDS, strict=True)
    ]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda row: compute_score(**row), rows * 20))
    assert [result["score"] for result in results] == [1.0, 1.0, 0.0] * 20
    assert results[0] == {"score": 1.0, "acc": 1.0, "unreadable": 0.0}
    assert verl_reward("math")("math", SAID[0], "42", None)["score"] == 1.0


def test_a_function_survives_pickling() -> None:
    """Ray sends it to its workers; what it holds stays here."""
    for function in (
        trl_reward(WEIGHTED, answer="gold", unreadable=None),
        verl_reward("math"),
        verifiers_reward("math"),
    ):
        twin = pickle.loads(pickle.dumps(function))
        assert (type(twin), twin.__name__, repr(twin)) == (type(function), function.__name__, repr(function))
    twin = pickle.loads(pickle.dumps(trl_reward("math", answer="gold")))
    assert twin(prompts=QUESTIONS, completions=SAID, gold=GOLDS) == [1.0, 1.0, 0.0]


STATES = [
    {"prompt": [{"role": "user", "content": q}], "completion": [{"role": "assistant", "content": s}], "answer": g}
    for q, s, g in zip(QUESTIONS, SAID, GOLDS, strict=True)
]


def test_verifiers_calls_it_with_what_a_state_has() -> None:
    """One rollout at a time, with the arguments that a rubric collects; messages may be objects."""
    function = trainers.correct_answer
    assert not {"prompts", "completions", "answers", "states", "tasks", "infos"} & set(
        inspect.signature(function).parameters
    )

    async def scored(state: dict[str, Any]) -> float:
        further = {"state": state, "info": {}, "task": None, "parser": object()}
        return float(await function(**state, **further))

    assert [asyncio.run(scored(state)) for state in STATES] == [1.0, 1.0, 0.0]
    message = SimpleNamespace(role="assistant", content=SAID[0])
    assert asyncio.run(function([message], "42")) == 1.0
    assert asyncio.run(verifiers_reward(Judge())("yes", "yes")) == 1.0


def test_a_real_rubric_of_verifiers_takes_it() -> None:
    """With weights, beside a function of its own."""
    verifiers = pytest.importorskip("verifiers.legacy", reason="verifiers is not installed")

    def length(completion: Any, **_: Any) -> float:
        return float(len(completion))

    rubric = verifiers.Rubric(funcs=[trainers.correct_answer, length], weights=[2.0, 0.25])

    async def scored(state: dict[str, Any]) -> dict[str, Any]:
        state = {**state, "timing": SimpleNamespace(scoring=SimpleNamespace(start=0.0, end=0.0)), "trajectory": []}
        await rubric.score_rollout(state)
        return state

    states = [asyncio.run(scored(state)) for state in STATES]
    assert [state["reward"] for state in states] == [2.25, 2.25, 0.25]
    assert states[0]["metrics"] == {"math": 1.0, "length": 1.0}
