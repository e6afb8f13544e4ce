"""Prints tau2's own rewards of conversations built by hand: ``python tau2_rewards.py CHECKOUT DOMAIN TASK…``.

Runs in the interpreter of the checkout. For each task: one of the gold actions, one of nothing.
"""

# mypy: ignore-errors

from __future__ import annotations

import copy
import json
import os
import sys

checkout, domain, *wanted = sys.argv[1:]
os.environ["TAU2_DATA_DIR"] = f"{checkout}/data"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
sys.path.insert(0, f"{checkout}/src")
printed = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

from tau2.data_model.message import AssistantMessage, ToolCall  # noqa: E402
from tau2.data_model.simulation import SimulationRun  # noqa: E402
from tau2.data_model.tasks import RewardType  # noqa: E402
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation  # noqa: E402
from tau2.registry import registry  # noqa: E402

tasks = {task.id: task for task in registry.get_tasks_loader(domain)("base")}
rewards = []
for task_id in wanted:
    for is_gold in (True, False):
        task = copy.deepcopy(tasks[task_id])
        criteria = task.evaluation_criteria
        criteria.reward_basis = [base for base in criteria.reward_basis if base != RewardType.NL_ASSERTION]
        environment = registry.get_env_constructor(domain)()
        messages = [AssistantMessage(role="assistant", content="Hi! How can I help you today?")]
        for place, action in enumerate(criteria.actions if is_gold else []):
            call = ToolCall(id=str(place), name=action.name, arguments=action.arguments)
            messages.append(AssistantMessage(role="assistant", content=None, tool_calls=[call]))
            messages.append(environment.get_response(call))
        if is_gold and criteria.communicate_info:
            messages.append(AssistantMessage(role="assistant", content="; ".join(criteria.communicate_info)))
        run = SimulationRun(
            id="x", task_id=task_id, start_time="2024-01-01", end_time="2024-01-01", duration=0.0,
            termination_reason="agent_stop", messages=messages,
        )  # fmt: skip
        rewards.append(evaluate_simulation(run, task, EvaluationType.ALL, False, domain).reward)
printed.write(json.dumps(rewards))
printed.close()
