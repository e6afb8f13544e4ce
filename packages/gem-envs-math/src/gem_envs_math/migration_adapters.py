"""The original GEM's math environment and reward functions; only :mod:`gem.migration` refers to this module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gem.migration_adapters import TakesOldArguments
from gem.text import extract_last_boxed_answer
from gem_envs_math import grader, math_env

__all__ = [
    "MathEnv",
    "answer_tag_reward_fn",
    "answer_tag_reward_fn_for_orz",
    "boxed_reward_fn",
    "extract_answer",
    "extract_boxed_answer",
    "grade",
    "r1_distill_qwen_math_reward_fn",
]

RewardOf = tuple[dict[str, bool], float]
"""Whether an answer was found (``formatted``), and the reward."""


class MathEnv(TakesOldArguments, math_env.MathEnv):
    """The original's environment, with its static grader."""

    @staticmethod
    def check_correct(model_answer: str, gt_answer: Any) -> bool:
        """Return whether a response with a boxed answer is right, for a gold answer or a list of them."""
        return boxed_reward_fn(model_answer, gt_answer)[1] == 1.0


def extract_boxed_answer(solution: str) -> str | None:
    """Return what the last box holds."""
    return extract_last_boxed_answer(solution)


extract_answer = extract_boxed_answer


def grade(model_answer: str, gt_answer: str, fast: bool = True) -> bool:
    """Return whether an answer equals a gold answer, which may be boxed. ``fast`` changes nothing here."""
    gold = extract_last_boxed_answer(gt_answer) if "\\boxed" in gt_answer else gt_answer
    return gold is not None and grader.is_correct(model_answer, gold)


def boxed_reward_fn(
    model_response: str, gt_answer: Any, fast: bool = False, correct_reward: float = 1.0, incorrect_reward: float = 0.0
) -> RewardOf:
    """Reward the answer in the last box of a response."""
    return _reward(extract_last_boxed_answer(model_response), gt_answer, correct_reward, incorrect_reward)


def r1_distill_qwen_math_reward_fn(
    model_response: str, gt_answer: Any, fast: bool = False, correct_reward: float = 1.0, incorrect_reward: float = 0.0
) -> RewardOf:
    """Reward the box after the one ``</think>`` of a response."""
    parts = model_response.split("</think>")
    if len(parts) != 2:
        return {"formatted": False}, 0.0
    return boxed_reward_fn(parts[1], gt_answer, fast, correct_reward, incorrect_reward)


def answer_tag_reward_fn(
    model_response: str, gt_answer: Any, fast: bool = False, correct_reward: float = 1.0, incorrect_reward: float = 0.0
) -> RewardOf:
    """Reward what ``<answer>`` holds, where it follows ``</think>`` and a blank."""
    if "</think> <answer>" not in model_response:
        return {"formatted": False}, incorrect_reward
    return answer_tag_reward_fn_for_orz(model_response, gt_answer, fast, correct_reward, incorrect_reward)


def answer_tag_reward_fn_for_orz(
    model_response: str, gt_answer: Any, fast: bool = False, correct_reward: float = 1.0, incorrect_reward: float = 0.0
) -> RewardOf:
    """Reward what the last ``<answer>`` holds, or the box in it."""
    if "<answer>" not in model_response or "</answer>" not in model_response:
        return {"formatted": False}, incorrect_reward
    answer: str | None = model_response.split("<answer>")[-1].replace("</answer>", "")
    if answer is not None and "\\boxed" in answer:
        answer = extract_last_boxed_answer(answer)
        if answer is None:
            return {"formatted": True}, incorrect_reward
    return _reward(answer, gt_answer, correct_reward, incorrect_reward)


def _reward(answer: str | None, gold: Any, correct_reward: float, incorrect_reward: float) -> RewardOf:
    if answer is None:
        return {"formatted": False}, incorrect_reward
    golds = gold if isinstance(gold, Iterable) and not isinstance(gold, str) else [gold]
    right = any(grade(answer, str(one)) for one in golds)
    return {"formatted": True}, correct_reward if right else incorrect_reward
