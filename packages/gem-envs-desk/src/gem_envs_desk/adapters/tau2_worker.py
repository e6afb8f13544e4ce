"""Plays tau2-bench in the interpreter of its checkout: ``python tau2_worker.py CHECKOUT``.

It imports nothing of GEM, so that the interpreter needs only what tau2 needs. Requests and answers are lines of JSON.
The numbers of sessions are the caller's.
"""

# mypy: ignore-errors
# The modules that it imports belong to the checkout, which is on no machine that checks types.

# ruff: noqa: N806  # classes of the checkout

from __future__ import annotations

import copy
import importlib
import json
import os
import random
import sys
import time
from functools import cache
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STOP_TOOL = "done"


def _module(name: str) -> Any:
    """Return a module of the checkout or of what it needs, which this package does not depend on."""
    return importlib.import_module(name)


def main() -> None:
    """Answer requests until the input ends."""
    checkout = Path(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # tau2 and its libraries print
    os.environ.setdefault("TAU2_DATA_DIR", str(checkout / "data"))
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    sys.path.insert(0, str(checkout / "src"))
    sessions: dict[int, Simulation] = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _answered(request, sessions)
        except Exception as error:
            answer = {"refused": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answered(request: dict[str, Any], sessions: dict[int, Simulation]) -> dict[str, Any]:
    logger = _module("loguru").logger

    logger.remove()
    kind = request["request"]
    if kind == "tasks":
        registry = _module("tau2.registry").registry

        if request["domain"] not in registry.get_domains():
            raise ValueError(f"there is no domain {request['domain']!r}; there are {', '.join(registry.get_domains())}")
        return {"tasks": [task.id for task in _tasks(request["domain"], request["split"])]}
    if kind == "end":
        sessions.pop(request["session"], None)
        return {}
    if kind == "begin":
        sessions[request["session"]] = session = Simulation(request)
        return session.opening()
    return sessions[request["session"]].act(request["text"], request["calls"])


@cache
def _tasks(domain: str, split: str | None) -> list[Any]:
    """Return the tasks of a split, which are read once: some domains have megabytes of them."""
    registry = _module("tau2.registry").registry

    load = registry.get_tasks_loader(domain)
    return load(split) if split else load()


class Simulation:
    """One simulation, which stops whenever it is the agent's turn."""

    def __init__(self, request: dict[str, Any]) -> None:
        Orchestrator = _module("tau2.orchestrator.orchestrator").Orchestrator
        registry = _module("tau2.registry").registry

        domain, user = request["domain"], request["user"]
        self.domain, self.is_solo, self.judge = domain, user == "none", request["judge"]
        self.task = copy.deepcopy(next(task for task in _tasks(domain, request["split"]) if task.id == request["task"]))
        make = registry.get_env_constructor(domain)
        # What tau2's own runner passes on: the retrieval of a domain that has one, and the reads that its grading logs.
        config = SimpleNamespace(domain=domain, retrieval_config=request["retrieval"])
        self.arguments = _module("tau2.runner.build")._build_env_kwargs(config, self.task)
        self.environment = make(solo_mode=self.is_solo, **self.arguments)
        try:
            user_tools = self.environment.get_user_tools(include=self.task.user_tools)
        except ValueError:
            user_tools = []
        tools = [*self.environment.get_tools(), *(user_tools if self.is_solo else [])]
        self.tools = [tool.openai_schema for tool in tools]
        self.agent = _agent(tools, self.environment.get_policy())
        self.game = Orchestrator(
            domain=domain,
            agent=self.agent,
            user=_user(request, self.task, user_tools or None),
            environment=self.environment,
            task=self.task,
            max_steps=request["max_steps"],
            seed=request["seed"],
            solo_mode=self.is_solo,
        )
        # What its method run does before the first step.
        self.game._run_start_time = time.strftime("%Y-%m-%dT%H:%M:%S")
        self.game._run_start_perf = time.perf_counter()
        self.game.initialize()
        self.shown = 0
        self._until_agent()

    def opening(self) -> dict[str, Any]:
        """Return the policy, the tools, the gold actions, and what has been said."""
        criteria = self.task.evaluation_criteria
        actions = (criteria.actions if criteria else None) or []
        return {
            "policy": self.environment.get_policy(),
            "ticket": str(getattr(self.task, "ticket", "") or "") if self.is_solo else "",
            "tools": self.tools,
            "gold": [[action.name, action.arguments, action.requestor] for action in actions],
            "facts": list((criteria.communicate_info if criteria else None) or []),
            **self._news(),
        }

    def act(self, text: str, calls: list[list[Any]]) -> dict[str, Any]:
        """Play the agent's message on to its next turn."""
        AssistantMessage = _module("tau2.data_model.message").AssistantMessage
        ToolCall = _module("tau2.data_model.message").ToolCall

        if any(name == STOP_TOOL for name, _ in calls):
            message = AssistantMessage(role="assistant", content="###STOP###")
        elif calls:
            made = [ToolCall(id=f"call_{len(self.game.trajectory)}_{place}", name=name, arguments=arguments)
                    for place, (name, arguments) in enumerate(calls)]  # fmt: skip
            message = AssistantMessage(role="assistant", content=None, tool_calls=made)
        else:
            message = AssistantMessage(role="assistant", content=text)
        self.agent.next_message = message
        self.game.step()
        self.game._check_termination()
        self._until_agent()
        return self._news()

    def _until_agent(self) -> None:
        Role = _module("tau2.orchestrator.orchestrator").Role

        while not self.game.done and self.game.to_role != Role.AGENT:
            self.game.step()
            self.game._check_termination()

    def _news(self) -> dict[str, Any]:
        """Return what was said to the agent since its last turn, and the reward if the simulation is over."""
        said = []
        for message in self.game.trajectory[self.shown :]:
            if message.role == "user" and not message.is_tool_call():
                said.append(["user", message.content])
            elif message.role == "tool" and message.requestor == "assistant":
                said.append(["tool", message.content])
            elif message.role == "assistant" and self.shown == 0 and not message.is_tool_call():
                said.append(["assistant", message.content])
        self.shown = len(self.game.trajectory)
        news: dict[str, Any] = {"said": said, "done": self.game.done}
        if self.game.done:
            news |= self._evaluated()
        return news

    def _evaluated(self) -> dict[str, Any]:
        RewardType = _module("tau2.data_model.tasks").RewardType
        EvaluationType = _module("tau2.evaluator.evaluator").EvaluationType
        evaluate_simulation = _module("tau2.evaluator.evaluator").evaluate_simulation

        task = copy.deepcopy(self.task)
        criteria = task.evaluation_criteria
        unjudged = 0
        if not self.judge and criteria is not None and RewardType.NL_ASSERTION in criteria.reward_basis:
            unjudged = len(criteria.nl_assertions or [])
            criteria.reward_basis = [base for base in criteria.reward_basis if base != RewardType.NL_ASSERTION]
        run, kind, arguments = self.game._finalize(), EvaluationType.ALL, self.arguments
        found = evaluate_simulation(run, task, kind, self.is_solo, self.domain, env_kwargs=arguments)
        bases = {base.value: value for base, value in (found.reward_breakdown or {}).items()}
        return {
            "reward": found.reward,
            "bases": bases,
            "unjudged": unjudged,
            "ended_by": str(getattr(self.game.termination_reason, "value", self.game.termination_reason)),
        }


def _agent(tools: list[Any], policy: str) -> Any:
    HalfDuplexAgent = _module("tau2.agent.base_agent").HalfDuplexAgent

    # The orchestrator admits an agent without a user by the name of its class.
    class GymAgent(HalfDuplexAgent):
        next_message = None

        def generate_next_message(self, message: Any, state: Any) -> Any:
            answer, self.next_message = self.next_message, None
            return answer, state

        def get_init_state(self, message_history: Any = None) -> Any:
            return list(message_history or [])

        @classmethod
        def is_stop(cls, message: Any) -> bool:
            return bool(message.content) and "###STOP###" in message.content

        def set_seed(self, seed: int) -> None:
            pass

    return GymAgent(tools=tools, domain_policy=policy)


def _scenario(task: Any) -> str:
    """Return the scenario of a task as a user can say it: without the marks that would end the conversation."""
    simulator = _module("tau2.user.user_simulator")

    text = str(task.user_scenario)
    for mark in (simulator.STOP, simulator.TRANSFER, simulator.OUT_OF_SCOPE):
        text = text.replace(mark, mark.strip("#"))
    return text


def _user(request: dict[str, Any], task: Any, tools: Any) -> Any:
    UserMessage = _module("tau2.data_model.message").UserMessage
    DummyUser = _module("tau2.user.user_simulator").DummyUser
    UserSimulator = _module("tau2.user.user_simulator").UserSimulator

    if request["user"] == "none":
        return DummyUser()
    if request["user"] == "model":
        return UserSimulator(
            tools=tools, instructions=task.user_scenario, llm=request["user_model"],
            llm_args=request["user_model_args"],
        )  # fmt: skip

    if request["user"] == "gold":
        return _gold_user(task)

    class ScriptedUser(DummyUser):
        """Says the whole scenario at once, and agrees to everything."""

        said = 0

        def generate_next_message(self, message: Any, state: Any) -> Any:
            self.said += 1
            text = _scenario(task) if self.said == 1 else "I have told you all that I know. Yes, please go ahead."
            return UserMessage(role="user", content=text), state

    return ScriptedUser()


def _gold_user(task: Any) -> Any:
    UserMessage = _module("tau2.data_model.message").UserMessage
    ToolCall = _module("tau2.data_model.message").ToolCall
    DummyUser = _module("tau2.user.user_simulator").DummyUser

    actions = (task.evaluation_criteria.actions if task.evaluation_criteria else None) or []
    blocks = [list(block) for who, block in groupby(actions, lambda action: action.requestor) if who == "user"]

    class GoldUser(DummyUser):
        """Says the whole scenario at once, and then makes its actions of the solution, a block whenever asked."""

        said = made = 0

        def generate_next_message(self, message: Any, state: Any) -> Any:
            self.said += 1
            if self.said == 1:
                return UserMessage(role="user", content=_scenario(task)), state
            if message.role == "assistant" and self.made < len(blocks):
                calls = [
                    ToolCall(
                        id=f"user_{self.said}_{place}", name=action.name, arguments=action.arguments, requestor="user"
                    )
                    for place, action in enumerate(blocks[self.made])
                ]
                self.made += 1
                return UserMessage(role="user", content=None, tool_calls=calls), state
            return UserMessage(role="user", content="I have done what I can do."), state

    return GoldUser()


if __name__ == "__main__":
    random.seed(0)
    main()
