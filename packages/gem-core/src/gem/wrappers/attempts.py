"""Several attempts at one task, with feedback between them: :class:`Attempts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from gem.arguments import boolean, integer, real
from gem.core import Env, Info, Wrapper
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError, EpisodeFinishedError, NotSupportedError

__all__ = ["Attempts", "attempt_feedback"]


def attempt_feedback(info: Mapping[str, Any]) -> str:
    """Return what an agent is told about a failed attempt: what is known of it, and nothing of the right answer.

    Args:
        info: the info of the attempt's last step; of its keys ``action_status``, ``grade``, ``failure``,
            ``tests_passed`` and ``tests_total`` are read.
    """
    if info.get("action_status") == "malformed":
        return "That answer does not have the requested format."
    if info.get("grade") == "unreadable":
        return "That answer could not be read."
    passed, total, failure = (info.get(key) for key in ("tests_passed", "tests_total", "failure"))
    if isinstance(passed, int) and isinstance(total, int) and isinstance(failure, str):
        return f"That program fails: {failure}, with {passed} of {total} tests passed."
    return "That is not right."


class Attempts(Wrapper[Any, Any]):
    """Gives several attempts at each task, above all at questions.

    After a failed attempt, the environment goes back to the state after its reset, and the agent sees feedback and the
    task again. The first observation says how many attempts there are.

    **Reward.** The last attempt is paid, times ``discount`` for each attempt before it; the end of any earlier attempt
    pays 0.0. Rewards within an attempt of several turns are paid as they come.

    **End.** A right answer ends the episode as ``terminated``. So does a failed last attempt, which is ``truncated`` as
    well, since the number of attempts was announced. An attempt that an inner limit or a fault cuts off (``truncated``
    alone) ends the episode as it is.

    **Right** is an attempt whose info has ``correct`` or ``success`` true, or, where it has neither, one whose last
    reward reaches the upper end of the declared ``reward_range`` (is positive, where none is declared).

    The next episode is the same however many attempts were made. Info has ``attempt``, the number of attempts so far,
    and ``turn`` counts over all of them.

    Args:
        env: an environment with a state (:meth:`gem.Env.get_state`); one without has a single attempt, and says
            nothing of more.
        max_attempts: attempts at each task, at least 1.
        discount: factor of the reward for each attempt before the paid one, from 0 to 1.
        repeat: show the task again after the feedback. False for use inside a wrapper that shows the history.
        feedback: a function from the info of a failed attempt to a text, or its ``"module:name"``. It must not reveal
            the right answer.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        max_attempts: int = 3,
        *,
        discount: float = 1.0,
        repeat: bool = True,
        feedback: str | Callable[[Mapping[str, Any]], str] = "gem.wrappers.attempts:attempt_feedback",
    ) -> None:
        super().__init__(env)
        self.max_attempts = integer("max_attempts", max_attempts, minimum=1)
        self.discount = real("discount", discount, minimum=0.0, maximum=1.0)
        self.repeat = boolean("repeat", repeat)
        found = load(feedback) if isinstance(feedback, str) else feedback
        if not callable(found):
            raise ArgumentTypeError(f"feedback must be a function of info, or its 'module:name', got {feedback!r:.80}")
        self._feedback = found
        self._start: dict[str, Any] | None = None
        self._task: Any = ""
        self._attempt = self._turn = 0
        self._over = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        try:
            self._start = self.env.get_state()
        except NotSupportedError:
            self._start = None
        self._task = deepcopy(observation)
        self._attempt, self._turn, self._over = 0, 0, False
        if self._has_several:
            observation = _joined(observation, f"You have up to {self.max_attempts} attempts.")
        return observation, {**info, "attempt": 0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        if self._over:
            raise EpisodeFinishedError(f"the episode of {self!r} has ended; call reset() to begin another")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._turn += 1
        ends = bool(terminated or truncated)
        self._attempt += ends
        info = {**info, "attempt": self._attempt}
        if "turn" in info:
            info["turn"] = self._turn
        if not ends:
            return observation, reward, terminated, truncated, info
        right = self._is_right(info, reward)
        cut_off = not terminated
        if not (right or cut_off) and self._has_several and self._attempt < self.max_attempts:
            assert self._start is not None
            self.env.set_state(self._start)
            info.pop("success", None)
            return self._shown_again(info), 0.0, False, False, info
        self._over = True
        out_of_attempts = not right and not cut_off and self._has_several
        paid = reward * self.discount ** (self._attempt - 1)
        return observation, paid, terminated, bool(truncated or out_of_attempts), info

    @property
    def _has_several(self) -> bool:
        return self.max_attempts > 1 and self._start is not None

    def _is_right(self, info: Mapping[str, Any], reward: float) -> bool:
        for key in ("correct", "success"):
            if isinstance(info.get(key), bool):
                return bool(info[key])
        declared = None if self.env.spec is None else self.env.spec.reward_range
        return reward > 0.0 if declared is None else reward >= declared[1]

    def _shown_again(self, info: Mapping[str, Any]) -> Any:
        said = self._feedback(info)
        if not isinstance(said, str):
            raise ArgumentError(f"feedback must return a str, got {said!r:.80}")
        left = self.max_attempts - self._attempt
        text = f"{said} You have {left} more attempt{'s' * (left > 1)}."
        return _joined(text, deepcopy(self._task)) if self.repeat else text

    def _own_state(self) -> Info:
        return {
            "start": deepcopy(self._start),
            "task": deepcopy(self._task),
            "attempt": self._attempt,
            "turn": self._turn,
            "over": self._over,
        }

    def _set_own_state(self, state: Info) -> None:
        start, task = deepcopy(state["start"]), deepcopy(state["task"])
        if not (start is None or isinstance(start, dict)) or not isinstance(task, (str, list)):
            raise TypeError("start must be a state, and task an observation")
        attempt = integer("attempt", state["attempt"], minimum=0)
        turn, over = integer("turn", state["turn"], minimum=0), boolean("over", state["over"])
        self._start, self._task, self._attempt, self._turn, self._over = start, task, attempt, turn, over


def _joined(first: Any, second: Any) -> Any:
    """Return two observations as one, as text where both are text, else as content parts."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(observation: Any) -> list[Any]:
    return [{"type": "text", "text": observation}] if isinstance(observation, str) else list(observation)
