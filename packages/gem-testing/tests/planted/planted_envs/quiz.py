"""What most of these environments share: questions, turns, the end of an episode, and state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from gem.arguments import integer
from gem.core import Env, Info
from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError, StateError
from gem.text import extract_last_boxed_answer

__all__ = ["IN_PLAY", "NOT_BEGUN", "OVER", "Quiz"]

IN_PLAY, OVER, NOT_BEGUN = range(3)


class Quiz(Env[Any, Any]):
    """Questions whose answer is a number, one a turn, until ``goal`` are right or the turns are used up.

    A subclass gives ``_draw``, which returns a new question as a list of ints, ``_ask`` and ``_answer``.
    """

    numbers: ClassVar[int] = 2
    """How many ints a question consists of."""

    def __init__(self, goal: int = 8, max_turns: int = 12) -> None:
        self.goal = integer("goal", goal, minimum=1)
        self.max_turns = integer("max_turns", max_turns, minimum=1)
        self._phase = NOT_BEGUN
        self._turn = self._right = 0
        self._question: list[int] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if options:
            raise ArgumentError(f"{type(self).__name__} has no reset options, got {sorted(map(str, options))}")
        super().reset(seed=seed)
        self._phase = IN_PLAY
        self._turn = self._right = 0
        self._question = self._draw()
        return self._observe(), {"turn": 0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        if self._phase == NOT_BEGUN:
            raise ResetNeededError(f"{self!r} has not begun; call reset() first")
        if self._phase == OVER:
            raise EpisodeFinishedError(f"the episode of {self!r} has ended; call reset() to begin another")
        self._turn += 1
        answer = self._read(action)
        is_right = answer == self._answer()
        self._right += is_right
        info: Info = {"turn": self._turn, "action_status": "malformed" if answer is None else "legal"}
        has_won, is_out = self._right >= self.goal, self._turn >= self.max_turns
        if has_won or is_out:
            self._phase = OVER
            info["success"] = has_won
        else:
            self._question = self._draw()
        return self._observe(), is_right / self.goal, has_won or is_out, is_out and not has_won, info

    def sample_random_action(self) -> Any:
        return f"\\boxed{{{self.action_rng.randint(0, 20)}}}"

    def get_state(self) -> dict[str, Any]:
        return {
            "environment": type(self).__name__,
            "phase": self._phase,
            "turn": self._turn,
            "right": self._right,
            "question": list(self._question),
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        name = type(self).__name__
        if not isinstance(state, Mapping) or state.get("environment") != name:
            raise StateError(f"not a state of {name}")
        try:
            phase = integer("phase", state["phase"], minimum=IN_PLAY, maximum=NOT_BEGUN)
            turn, right = integer("turn", state["turn"], minimum=0), integer("right", state["right"], minimum=0)
            question = [integer("a number", number) for number in state["question"]]
            if len(question) != (0 if phase == NOT_BEGUN else self.numbers):
                raise ArgumentError(f"no question has {len(question)} numbers")
            self.set_generator_state(state)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"not a state of {name}: {error!r}") from error
        self._phase, self._turn, self._right, self._question = phase, turn, right, question

    def _observe(self) -> Any:
        return (
            f"Turn {self._turn} of {self.max_turns}, {self._right} right of {self.goal}. {self._ask()} "
            "Answer with \\boxed{number}."
        )

    def _read(self, action: Any) -> int | None:
        text = extract_last_boxed_answer(action)
        return int(text) if text is not None and len(text) < 10 and text.isascii() and text.isdigit() else None

    def _draw(self) -> list[int]:
        raise NotImplementedError

    def _ask(self) -> str:
        raise NotImplementedError

    def _answer(self) -> int:
        raise NotImplementedError
