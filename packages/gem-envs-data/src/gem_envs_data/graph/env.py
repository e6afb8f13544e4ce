"""Graph: questions about a knowledge graph, answered by combining sets of entities.

The tools, their names and the texts around them are those of the knowledge graph of AgentBench (Liu et al., 2023).
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import gem
from gem.arguments import boolean, choice
from gem.core import Info
from gem.counts import counted
from gem.numbered_tasks import NumberedTaskEnv
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, illegal, legal, malformed, success
from gem_envs_data.graph.questions import LEVELS, GraphTask, task_of
from gem_envs_data.graph.tools import TOOLS, CallError, GraphTools
from gem_envs_data.names import SPLITS
from gem_envs_data.native_calls import function_schema, native_call

__all__ = ["GraphEnv", "GraphPolicy"]

EXACT_MATCH, F1 = "exact_match", "f1"

_ACTION = re.compile(r"^[ \t]*Action[^:\n]*:[ \t]*(\w+)\(([^\n]*)\)", re.MULTILINE)
_FINAL = re.compile(r"(?:Find|Final) Answer: *(#[0-9]+)")
_ANSWER_TOOL = "final_answer"

_INSTRUCTIONS = """Answer a question about a knowledge graph. You cannot see the graph; these tools read it:

{tools}

A variable is a set of entities that a tool has made: #0 is the first, #1 the second, and so on. In place of a \
variable, an argument can be an entity of the question. A relation leads from an entity to others, and from a \
set to all that it leads to from any of them.

Call one tool a turn, in a line like "Action: get_relations({example})". When a variable holds the answer, end with a \
line like "Final Answer: #3". You have {turns}. An action in another form is a lost turn."""

Call = tuple[str, ...]
"""The name of a tool and its arguments; ``final_answer`` and a variable for the end."""


class _CallForm:
    """Reads calls as AgentBench does: the final answer before anything else, and the first line with an action."""

    def read(self, text: str, /) -> Call | None:
        text = text.partition("Observation:")[0].replace("\\_", "_")
        final = _FINAL.search(text)
        if final is not None:
            return _ANSWER_TOOL, final[1]
        action = _ACTION.search(text)
        if action is None:
            return None
        arguments = [argument.strip().removeprefix("variable ").strip("'\"") for argument in action[2].split(",")]
        return action[1], *arguments

    def sample(self, rng: Any, /) -> str:
        return f"Final Answer: #{rng.randrange(3)}"


class GraphEnv(NumberedTaskEnv[Call]):
    """One question about a generated knowledge graph per episode.

    The answer is a set of entities, or a number, which a variable must hold. Rewards: 1.0 for exactly that set, 0.0 for
    any other; with ``metric="f1"`` the F1 score over entities. ``info`` has both on the last step of an answered
    episode, ``correct`` and ``f1``.

    The reset option ``task``, an int below 2⁴⁸, chooses a task.

    Args:
        level: 1: one or two relations from one entity; 2: two sets to intersect, a largest, a number; 3: three or four
            relations, several such operations, and phrases that do not repeat the names of the relations.
        split: ``"train"`` or ``"test"``. No graph is in both.
        metric: metric of the reward, ``"exact_match"`` or ``"f1"``.
        look_first: whether relations and attributes must have been listed before they can be used, as in AgentBench.
        max_turns: turns of an episode; a call takes one.
    """

    form = _CallForm()
    saved = StateFields(task=int, calls=list[list[str]])
    request = ""
    closings: ClassVar[dict[str, str]] = {
        **NumberedTaskEnv.closings,
        "success": "That is the right answer.",
        "failure": "That is not the right answer.",
    }

    def __init__(
        self,
        level: int = 1,
        split: str = "train",
        metric: str = EXACT_MATCH,
        look_first: bool = True,
        max_turns: int = 15,
    ) -> None:
        super().__init__(max_turns)
        self.level = choice("level", level, LEVELS)
        self.split = choice("split", split, SPLITS)
        self.metric = choice("metric", metric, (EXACT_MATCH, F1))
        self.look_first = boolean("look_first", look_first)

    @property
    def current(self) -> GraphTask:
        """The task of this episode, with its answer."""
        return self._task

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The actions in the format of the ``tools`` argument of chat APIs."""
        schemas = [
            function_schema(name, description, **{parameter: _ABOUT[parameter] for parameter in parameters})
            for name, (parameters, description) in TOOLS.items()
        ]
        return [*schemas, function_schema(_ANSWER_TOOL, "End with an answer.", variable="The variable, such as #3.")]

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Play one call; an assistant message may make it natively. See :meth:`gem.TextEnv.step`."""
        if type(action) is not str:
            call = native_call(action)
            if call is not None:
                action = _as_text(call.name, call.arguments)
        return super().step(action)

    def _begin(self, task: int | None = None) -> None:
        super()._begin(task)
        self.calls: list[list[str]] = []
        self._open()

    def _open(self) -> None:
        self._task = task_of(self.task, self.level, self.split)
        self._tools = GraphTools(self._task.store, self._task.entities, self.look_first)

    def _instructions(self) -> str:
        entities = self._task.entities
        tools = "\n".join(f"{name}({', '.join(of)}): {about}" for name, (of, about) in TOOLS.items())
        rules = _INSTRUCTIONS.format(tools=tools, example=entities[0], turns=counted(self.max_turns, "turn"))
        return f"{rules}\n\nQuestion: {self._task.question}\nEntities: [{', '.join(entities)}]"

    def _play(self, call: Call) -> MoveResult:
        name, *arguments = call
        try:
            if name == _ANSWER_TOOL:
                return self._graded(self._tools.variable(arguments[0] if arguments else ""))
            answer = self._tools.call(name, arguments)
        except CallError as error:
            return illegal(f"The call cannot be carried out. {error}")
        self.calls.append([name, *arguments])
        return legal(f"Observation: {answer}")

    def _graded(self, variable: Any) -> MoveResult:
        answer, gold = variable.value, self._task.answer
        correct = answer == gold
        shared = float(correct)
        if isinstance(answer, frozenset) and isinstance(gold, frozenset):
            shared = 2 * len(answer & gold) / (len(answer) + len(gold))
        self._score = {"correct": correct, "f1": shared}
        said = f"Your answer is {answer if isinstance(answer, int) else counted(len(answer), 'entity', 'entities')}."
        return success(said) if correct else failure(said, shared if self.metric == F1 else 0.0)

    def _malformed(self) -> MoveResult:
        return malformed('No line like "Action: tool(arguments)" or "Final Answer: #0" was found.', 0.0, ends=False)

    def _random_action(self) -> str:
        """Return a call of any tool with fitting arguments as far as they are known, or an answer."""
        rng, tools, task = self.action_rng, self._tools, self._task
        made = [f"#{number}" for number, one in enumerate(tools.variables) if isinstance(one.value, frozenset)]
        if tools.variables and rng.random() < 0.2:
            return f"Final Answer: #{rng.randrange(len(tools.variables))}"
        name = rng.choice([*TOOLS, "get_neighbors", "get_neighbors"])
        variable = rng.choice([*task.entities, *made])
        entities = frozenset((variable,)) if variable in task.store.kinds else tools.variable(variable).value
        assert isinstance(entities, frozenset)
        if name == "get_neighbors":
            known = task.store.relations(entities)
        elif name in ("argmax", "argmin"):
            known = task.store.attribute_names(entities)
        else:
            known = [*made, *task.entities] if name == "intersection" else []
        arguments = [variable, rng.choice(known)] if known else [variable]
        return f"Action: {name}({', '.join(arguments)})"

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self._open()
        for name, *arguments in self.calls:
            try:
                self._tools.call(name, arguments)
            except CallError as error:
                raise ValueError(f"call of {name}: {error}") from error


_ABOUT = {
    "variable": "A variable such as #0, or an entity of the question.",
    "variable1": "A variable such as #0.",
    "variable2": "Another variable of the same type.",
    "relation": "A relation that get_relations has listed.",
    "attribute": "An attribute that get_attributes has listed.",
}


def _as_text(name: str | None, arguments: Any) -> str:
    values = [value for value in arguments.values() if isinstance(value, str)]
    if name == _ANSWER_TOOL:
        return f"Final Answer: {values[0] if values else ''}"
    return f"Action: {name}({', '.join(values)})"


class GraphPolicy(gem.Policy[str, str]):
    """Carries out the program of the question, one call a turn, and answers with its last variable.

    It reads the program from the environment. An agent needs as many calls.
    """

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        env: GraphEnv = self.env.unwrapped  # type: ignore[assignment]  # a policy of this environment
        task = env.current
        made = sum(step[0] not in ("get_relations", "get_attributes") for step in task.program)
        calls = [f"Action: {tool}({', '.join(arguments)})" for tool, *arguments in task.program]
        self._left = [f"Final Answer: #{made - 1}", *reversed(calls)]

    def act(self, observation: str, info: Info) -> str:
        return self._left.pop()
