"""Prints tau2's own rewards of conversations built by hand: ``python tau2_rewards.py CHECKOUT DOMAIN WHAT TASK…``.

Runs in the interpreter of the checkout. WHAT is ``gold`` for the gold actions of each task, the user's among them, or
``both`` for these and for nothing. The reward of a conversation that tau2 cannot grade is -1. A domain may name its
retrieval: ``banking_knowledge:grep_only``.
"""

# mypy: ignore-errors

from __future__ import annotations

import copy
import json
import os
import sys
from types import SimpleNamespace

checkout, name, what, *wanted = sys.argv[1:]
domain, _, retrieval = name.partition(":")
os.environ["TAU2_DATA_DIR"] = f"{checkout}/data"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
sys.path.insert(0, f"{checkout}/src")
printed = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

from loguru import logger  # noqa: E402
from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage  # noqa: E402
from tau2.data_model.simulation import SimulationRun  # noqa: E402
from tau2.data_model.tasks import RewardType  # noqa: E402
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation  # noqa: E402
from tau2.registry import registry  # noqa: E402
from tau2.runner.build import _build_env_kwargs  # noqa: E402


def reward(task, is_gold):
    """Return the reward of the gold actions of a task, or of none."""
    task = copy.deepcopy(task)
    criteria = task.evaluation_criteria
    if criteria is not None:
        criteria.reward_basis = [base for base in criteria.reward_basis if base != RewardType.NL_ASSERTION]
    arguments = _build_env_kwargs(SimpleNamespace(domain=domain, retrieval_config=retrieval or None), task)
    environment = registry.get_env_constructor(domain)(**arguments)
    messages = []
    if task.initial_state is not None:
        messages = list(task.initial_state.message_history or [])
        data, actions = task.initial_state.initialization_data, task.initial_state.initialization_actions
        environment.set_state(data, actions, messages)
    messages.append(AssistantMessage(role="assistant", content="Hi! How can I help you today?"))
    gold = (criteria.actions or []) if is_gold and criteria is not None else []
    for place, action in enumerate(gold):
        who = action.requestor
        call = ToolCall(id=str(place), name=action.name, arguments=action.arguments, requestor=who)
        speaker = UserMessage if who == "user" else AssistantMessage
        messages.append(speaker(role=who, content=None, tool_calls=[call]))
        messages.append(environment.get_response(call))
    if is_gold and criteria is not None and criteria.communicate_info:
        messages.append(AssistantMessage(role="assistant", content="; ".join(criteria.communicate_info)))
    run = SimulationRun(
        id="x", task_id=task.id, start_time="2024-01-01", end_time="2024-01-01", duration=0.0,
        termination_reason="agent_stop", messages=messages,
    )  # fmt: skip
    return evaluate_simulation(run, task, EvaluationType.ALL, False, domain, env_kwargs=arguments).reward


logger.remove()
tasks = {task.id: task for task in registry.get_tasks_loader(domain)("base")}
rewards = []
for task_id in wanted:
    for is_gold in (True, False) if what == "both" else (True,):
        try:
            rewards.append(reward(tasks[task_id], is_gold))
        except Exception as error:
            print(f"{task_id}: {type(error).__name__}: {error}", file=sys.stderr)
            rewards.append(-1.0)
printed.write(json.dumps(rewards))
printed.close()
