"""Task sets of verifiers 0.4, and packages of the releases before, in a process and a Python of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gem.arguments import boolean, integer, string
from gem.core import Action
from gem.errors import ArgumentError, ArgumentTypeError
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import ForeignTurn
from gem_bridges.messages import observed, with_text
from gem_bridges.rows_env import RowsEnv
from gem_bridges.tool_messages import assistant_message, described_tools
from gem_bridges.verifiers.messages import messages_after
from gem_bridges.worker_env import WorkerGame, asked
from gem_processes import LineWorker

__all__ = ["VerifiersEnv", "VerifiersRollout"]


class VerifiersRollout(WorkerGame):
    """A rollout in a worker.

    Attributes:
        shown: the last request to the model (``messages``, ``tools``), or the result (``reward``, ``metrics`` …).
        index: the row that is played.
    """

    def __init__(self, worker: LineWorker, index: int, seed: int) -> None:
        self.index = index
        super().__init__(worker, {}, {"row": index, "seed": seed})

    @property
    def is_over(self) -> bool:
        """Whether the rollout is scored."""
        return "reward" in self.shown

    def answer(self, message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Answer the request; return the messages that followed."""
        before = self.shown
        self.shown = self._asked("answer", message=dict(message))
        if not self.is_over:
            return messages_after(before["messages"], message, self.shown["messages"])
        spoken = [place for place, one in enumerate(self.shown["completion"]) if one.get("role") == "assistant"]
        last = spoken[-1] + 1 if spoken else 0
        return list(self.shown["completion"][last:])


class VerifiersEnv(RowsEnv):
    """A task set of verifiers 0.4, or a package of the releases before: its tasks, turns, tools and scores.

    An observation is the last messages of the request that the model would get, the first one with the system prompt
    and the tools. An action is the model's answer: a text, with ``<tool_call>`` tags where there are tools, or an
    assistant message with ``tool_calls``. The reward of an episode is the library's, at its end; ``info`` has
    ``metrics`` and ``stop_condition``, and of a package before 0.4 ``success``, where the reward reaches its
    ``pass_threshold``. The task follows from the seed; the option ``index`` of :meth:`reset` names one. A state is the
    task, the seed and the answers so far, so a package whose episodes depend on clocks or servers has none that is
    worth keeping.

    A task set plays with the harness that it brings, or else with one that asks the model and calls the task's tools
    from the worker's process. ``config`` chooses others.

    Args:
        package: the task set or the package, as ``vf-eval`` takes it.
        args: the fields of the task set (``[env.taskset]``); before 0.4 the arguments of ``load_environment``.
        config: the other fields of verifiers' block ``[env]``, such as
            ``{"agent": {"harness": {"id": "bash"}, "runtime": {"type": "docker"}}}``; 0.4 alone.
        tasks: how many tasks are taken of an infinite task set.
        split: ``"train"`` or ``"eval"``, before 0.4 alone; a package without rows for evaluation gives those for
            training.
        python: the Python with the package and verifiers (0.1.11 or newer); by default the one of this process.
        folder: where the package lies if it is not installed.
        variables: names of environment variables that the package gets, such as keys of judges.
        show_tools: whether the first observation ends with the tools.
        max_turns: turns after which an episode is truncated, without a reward.
        timeout: seconds for an answer of the worker, the loading included.
        max_memory: bytes of address space that the worker may have.

    Raises:
        ArgumentError: for another split, a folder that does not exist, or a variable that is not set.
    """

    script = Path(__file__).with_name("worker.py")
    max_answer_bytes = 2**24

    def __init__(
        self,
        package: str,
        args: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        tasks: int = 1000,
        split: str = "train",
        python: str | None = None,
        folder: str | None = None,
        variables: Sequence[str] = (),
        show_tools: bool = True,
        max_turns: int = 1000,
        timeout: float = 300.0,
        max_memory: int = 2**35,
    ) -> None:
        super().__init__(python, max_turns, timeout, max_memory)
        self.package = string("package", package)
        self.package_args = _fields("args", args)
        self.config = _fields("config", config)
        self.tasks = integer("tasks", tasks, minimum=1)
        if split not in ("train", "eval"):
            raise ArgumentError(f"split must be 'train' or 'eval', got {split!r:.80}")
        self.split = split
        self.folder = None if folder is None else str(Path(string("folder", folder)).expanduser().absolute())
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ArgumentError(f"there is no folder {self.folder}")
        self.variables = tuple(string("a name in variables", name) for name in variables)
        self.show_tools = boolean("show_tools", show_tools)

    @property
    def name(self) -> str:
        return f"verifiers:{self.package}"

    def close(self) -> None:
        """End the rollout and what the package has started, then the worker."""
        self._drop()
        worker = self._running_worker()
        if worker is not None:
            with suppress(BridgeError):  # it is killed anyway
                asked(worker, "end")
        super().close()

    def _loading(self) -> dict[str, Any]:
        missing = [name for name in self.variables if name not in os.environ]
        if missing:
            raise ArgumentError(f"{self.name}: the environment has no variable {', '.join(missing)}")
        return {
            "package": self.package.rsplit("/", 1)[-1].partition("@")[0].replace("-", "_"),
            "args": self.package_args,
            "config": self.config,
            "tasks": self.tasks,
            "split": self.split,
            "folder": self.folder,
            "variables": {name: os.environ[name] for name in self.variables},
        }

    @staticmethod
    def _advice(error: str) -> str:
        if "of the old form" in error:
            return "; install 'verifiers>=0.1.11,<0.4' there, or name the Python that has it with the argument python"
        if "No module named 'verifiers'" in error:
            return "; install verifiers there, or name the Python that has it with the argument python"
        return "; install it there, or name its folder with the argument folder" if "No module named" in error else ""

    def _open(self, seed: int) -> VerifiersRollout:
        rollout = VerifiersRollout(self._loaded(), seed % self._row_count, seed)
        if rollout.is_over:
            error = rollout.shown.get("error") or "it is over before the first answer"
            raise BridgeError(f"{self.name}, row {rollout.index}: {error}")
        return rollout

    def _repeat(self, game: VerifiersRollout, text: str) -> None:
        game.answer(json.loads(text))

    def _first(self) -> ForeignTurn:
        request = self._game.shown
        shown = observed(request["messages"])
        if self.show_tools and request["tools"]:
            shown = with_text(shown, described_tools(request["tools"]))
        return ForeignTurn(shown, info={"index": self._game.index})

    def _play(self, action: Action) -> ForeignTurn:
        message = assistant_message(action, self._game.shown["tools"])
        self._journal.append(json.dumps(message))
        followed = self._game.answer(message)
        if not self._game.is_over:
            return ForeignTurn(observed(followed), info=_results(followed))
        result = self._game.shown
        if result.get("error") is not None:
            raise BridgeError(f"{self.name}: {result['error']}")
        info = {
            **_results(followed),
            "metrics": result["metrics"],
            "stop_condition": result.get("stop_condition"),
            **({"success": result["reward"] >= result["threshold"]} if "threshold" in result else {}),
        }
        return ForeignTurn(observed(followed), result["reward"], terminated=True, info=info)


def _results(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what separates the answers of several tools for a history of chat messages."""
    answers = [one for one in messages if one.get("role") == "tool"]
    if not answers:
        return {}
    found = [
        {"tool_call_id": one.get("tool_call_id"), "name": None, "text": str(observed([one])), "ok": True}
        for one in answers
    ]
    return {"tool_results": found}


def _fields(name: str, value: object) -> dict[str, Any]:
    """Return an argument that is a dict, or None."""
    if value is not None and not isinstance(value, Mapping):
        raise ArgumentTypeError(f"{name} must be a dict, got an object of type {type(value).__name__}")
    return dict(value or {})
