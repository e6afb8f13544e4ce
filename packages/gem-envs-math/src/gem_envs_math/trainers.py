"""The grader of mathematics as the functions that trainers call.

``grpo_reward`` is for TRL's ``reward_funcs`` and finds the right answers in the column ``answer``; ``compute_score`` is
for verl, whose ``custom_reward_function.path`` may name this file; ``correct_answer`` is for a ``Rubric`` of verifiers.
Other columns, weights and further rewards: :func:`gem_questions.rewards.trl_reward` and its siblings.
"""

from __future__ import annotations

from gem_questions.rewards import trl_reward, verifiers_reward, verl_reward

__all__ = ["compute_score", "correct_answer", "grpo_reward"]

grpo_reward = trl_reward("math")
compute_score = verl_reward("math")
correct_answer = verifiers_reward("math")
