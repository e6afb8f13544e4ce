r"""The data sets of reasoning-gym as environments: one question an episode, scored by the library.

The answer is the content of the last ``\boxed{…}``, and the reward is the library's score of it, from 0.0 to 1.0,
partial credit included. An action without a box earns 0.0.

Results differ from the original's and the library's as follows:

* Items of isomorphic_strings, ransom_note, word_ladder, knight_swap, polynomial_multiplication and codeio are the same
  in every process; elsewhere they follow PYTHONHASHSEED or the process's global generators.
* game_of_life_halting rewards only the right word; coin_flip does not reward a mere beginning of the number, such as
  "0"; complex_arithmetic does not reward "nan"; puzzle24 does not reward an expression of other numbers than the given.
* Nine scorers execute the answer as Python. Here lists and arithmetic are parsed; any other text gets 0.0, or the
  scorer's reward for unreadable text.
* An action without a box earns 0.0, while the original passes None to the scorer, which gives 0.01 in countdown,
  puzzle24 and fraction_simplification.
* A scorer that raises (prime_factorization for any text, boxnet, …) or takes too long gives 0.0 and
  ``info["scorer_error"]``.
* After the last item, and with each ``reset(seed=…)``, the order is this environment's own and not the global
  generator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import boolean, check_names, integer, seed_value
from gem.core import Action, Info, Observation
from gem.errors import ArgumentError, ArgumentTypeError, ResetNeededError, StateError
from gem.text import extract_last_boxed_answer
from gem_envs_reasoning import oracles, scoring
from gem_envs_reasoning.items import (
    COMPOSITE,
    Composite,
    DataSet,
    Part,
    catalogue,
    check_config,
    check_name,
    highest_level,
    parts_of,
)
from gem_questions import Grade, QuestionEnv
from gem_questions.order import Order
from gem_questions.permutation import Permutation

__all__ = ["ANSWER_FORMAT", "ReasoningGymEnv"]

ANSWER_FORMAT = "Put the final answer, and nothing else, in \\boxed{}."
_LARGEST_SIZE = 1 << 30
_MOST_EPOCHS = 1 << 20
_WORD = (1 << 64) - 1


class ReasoningGymEnv(QuestionEnv):
    """One question of a data set of reasoning-gym per episode.

    A reset without a seed, from the start, goes through the items in the library's order; a reset with a seed begins an
    order drawn from it, in which each item comes once. After ``size`` items come those of a new data set, whose seed is
    ``seed + size``, and so on.

    ``info`` has, besides the keys of :class:`gem_questions.QuestionEnv`: ``dataset``, ``level`` if there is one, and
    ``scorer_error`` if the scorer failed.

    Args:
        name: the data set; or ``"composite"``.
        size: number of items of a data set.
        seed: seed of the first data set.
        level: level of the library's curriculum, from 0 to :attr:`highest_level`; None: the configuration's own values.
        levels: levels for single attributes of the curriculum, instead of ``level``.
        datasets: the parts of a composite: a list of ``{"name": …, "weight": 1.0, "config": {…}}``, or names.
        answer_format: append the format of the answer to each question.
        **config: values of the data set's configuration; they win over the level's.

    Raises:
        ArgumentError, ArgumentTypeError: if there is no such data set, or the library refuses the configuration.
    """

    def __init__(
        self,
        name: str,
        size: int = 500,
        seed: int = 42,
        *,
        level: int | None = None,
        levels: Mapping[str, int] | None = None,
        datasets: Any = None,
        answer_format: bool = True,
        **config: Any,
    ) -> None:
        self.name = check_name(name)
        self.size = integer("size", size, minimum=1, maximum=_LARGEST_SIZE)
        self._seed = seed_value(seed)
        self._config = config
        self._answer_format = boolean("answer_format", answer_format)
        self._parts: list[Part] | None = None
        if self.name == COMPOSITE:
            if datasets is None:
                raise ArgumentError('rg:composite needs datasets=[{"name": …, "weight": …, "config": {…}}, …]')
            check_names("rg:composite", config, ())
            self._parts = parts_of(datasets)
        else:
            if datasets is not None:
                raise ArgumentError(f"datasets is for rg:composite, not for rg:{self.name}")
            check_config(self.name, config)
        self._levels = self._checked_levels(levels)
        if level is not None and levels is not None:
            raise ArgumentError("give level or levels, not both")
        self._level = self._asked_level = None if level is None else self._checked_level(level)
        self._made: DataSet | Composite | None = None
        self._asked: DataSet | None = None
        self._workers = scoring.WORKERS.handle()
        super().__init__(_Items(self), shuffle=False)
        if config or self._parts:
            self._data_set()  # raises for a configuration that the library refuses

    @property
    def level(self) -> int | None:
        """The curriculum's level of the next episodes."""
        return self._level

    @property
    def highest_level(self) -> int | None:
        """The highest level, from 0; None if the library has no curriculum."""
        names = [self.name] if self._parts is None else [part.name for part in self._parts]
        found = [highest for highest in map(highest_level, names) if highest is not None]
        return max(found) if found else None

    def set_level(self, level: int) -> None:
        """Change the level of later episodes; the current one stays unchanged.

        A curriculum calls it between episodes. It is part of the environment's state.
        """
        if self._levels is not None:
            raise ArgumentError(f"{self!r} was made with levels for single attributes, and has no level to set")
        self._level, self._made = self._checked_level(level), None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        observation, info = super().reset(seed=seed, options=options)
        self._asked_level, self._asked = self._level, None
        info.update(self._about_a_question_of(self._data_set_of_question()))
        return observation, info

    def question(self, row: Mapping[str, Any]) -> Observation:
        question = str(row["question"])
        return f"{question.rstrip()}\n\n{ANSWER_FORMAT}" if self._answer_format else question

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        answer = extract_last_boxed_answer(action)
        data_set = self._asked or self._data_set_of_question()
        about = self._about_a_question_of(data_set)
        if not answer:
            return Grade(0.0, correct=False, well_formed=answer is not None, info=about)
        index = self.index
        assert index is not None
        if scoring.needs_worker(data_set.name, answer):
            _ = self._workers.value  # counts as a user of the processes that score
        reward, error = scoring.score(data_set, index // self.size, answer, row)
        if error is not None:
            about["scorer_error"] = error
        return Grade(reward, correct=reward >= 1.0 - 1e-9, info=about)

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        data_set = self._data_set_of_question()
        return f"\\boxed{{{oracles.answer(data_set.name, row)}}}"

    def sample_random_action(self) -> Action:
        """Return the right answer, or more often one with two of its characters exchanged.

        Raises:
            ResetNeededError: before the first reset.
        """
        answer = self.reference_answer(self.row)[len("\\boxed{") : -1]
        places = [place for place, character in enumerate(answer) if character.isalnum()]
        if len(places) > 1 and self.action_rng.random() < 0.75:
            first, second = sorted(self.action_rng.sample(places, 2))
            answer = answer[:first] + answer[second] + answer[first + 1 : second] + answer[first] + answer[second + 1 :]
        return f"\\boxed{{{answer}}}"

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "level": self._level, "asked_level": self._asked_level}

    def set_state(self, state: Mapping[str, Any]) -> None:
        before = self._level, self._asked_level, self._made
        try:
            level, asked = (
                None if state[key] is None else self._checked_level(state[key]) for key in ("level", "asked_level")
            )
            if asked != self._level:
                self._level, self._made = asked, None
            super().set_state({key: value for key, value in state.items() if key not in ("level", "asked_level")})
        except BaseException as error:
            self._level, self._asked_level, self._made = before
            if isinstance(error, (LookupError, TypeError, ValueError, AttributeError)) and not isinstance(
                error, StateError
            ):
                raise StateError(f"not a state of {type(self).__name__}: {error}") from error
            raise
        self._asked_level, self._asked = asked, None
        if level != self._level:
            self._level, self._made = level, None

    def close(self) -> None:
        self._workers.close()

    def _open(self, rows: Any) -> None:
        self._rows, self._order = rows, _LibraryOrder(rows, self.size)

    def _data_set(self) -> DataSet | Composite:
        if self._made is None:
            self._made = self._make(self._level)
        return self._made

    def _make(self, level: int | None) -> DataSet | Composite:
        if self._parts is not None:
            return Composite(self._parts, seed=self._seed, size=self.size, level=level)
        of_attributes = level if self._levels is None else self._levels
        return DataSet(self.name, self._config, seed=self._seed, size=self.size, level=of_attributes)

    def _data_set_of_question(self) -> DataSet:
        """Return the data set of the current question."""
        if self._asked is None:
            index = self.index
            if index is None:
                raise ResetNeededError(f"{self!r} has asked nothing yet; call reset() first")
            level = self._asked_level
            made = self._data_set() if level == self._level else self._make(level)
            self._asked = made if isinstance(made, DataSet) else made.parts[made.part(index)]
        return self._asked

    def _about_a_question_of(self, data_set: DataSet) -> dict[str, Any]:
        about: dict[str, Any] = {"dataset": data_set.name}
        if self._levels is not None:
            about["level"] = dict(self._levels)
        elif self._asked_level is not None:
            about["level"] = self._asked_level
        return about

    def _checked_level(self, level: object) -> int:
        highest = self.highest_level
        if highest is None:
            raise ArgumentError(f"reasoning-gym has no curriculum for {self.name!r}; set its configuration instead")
        return integer("level", level, minimum=0, maximum=highest)

    def _checked_levels(self, levels: object) -> dict[str, int] | None:
        if levels is None:
            return None
        if not isinstance(levels, Mapping):
            raise ArgumentTypeError(f"levels must be a dict, got an object of type {type(levels).__name__}")
        if self._parts is not None:
            raise ArgumentError("rg:composite has one level for all its parts; use level")
        known = catalogue()[self.name]["levels"]
        check_names(f"the curriculum of rg:{self.name}", levels, known)
        return {name: integer(name, level, minimum=0, maximum=known[name] - 1) for name, level in levels.items()}


class _Items:
    """The rows of an environment, at its current level."""

    def __init__(self, env: ReasoningGymEnv) -> None:
        self._env = env

    def __len__(self) -> int:
        return self._env.size * _MOST_EPOCHS

    def __getitem__(self, index: int) -> Mapping[str, Any]:
        return self._env._data_set()[index]


class _LibraryOrder(Order):
    """Data set after data set: each in the library's order, or after a reset with a seed in an order drawn from it."""

    def __init__(self, rows: _Items, size: int) -> None:
        self._rows = rows
        self._size = size
        self._position = 0
        self._shuffled = False
        self._permutation: Permutation | None = None

    def begin(self, key: int, seed: int | None) -> None:
        self.key, self.epoch, self._position = key, 0, 0
        self._shuffled, self._permutation = seed is not None, None

    def next(self) -> tuple[int, Mapping[str, Any]]:
        if self._position >= self._size:
            self.epoch, self._position, self._permutation = self.epoch + 1, 0, None
        place = self._position
        if self._shuffled:
            if self._permutation is None:
                assert self.key is not None
                self._permutation = Permutation(self._size, self.key + self.epoch & _WORD)
            place = self._permutation[place]
        index = self.epoch * self._size + place
        row = self._rows[index]
        self._position += 1
        return index, row

    def at(self, index: int | None) -> tuple[int, Mapping[str, Any]]:
        checked = integer("index", index, minimum=0, maximum=len(self._rows) - 1)
        return checked, self._rows[checked]

    def random(self, rng: Any) -> Mapping[str, Any]:
        return self._rows[rng.randrange(self._size)]

    def get_state(self) -> dict[str, Any]:
        return {"key": self.key, "epoch": self.epoch, "position": self._position, "shuffled": self._shuffled}

    def set_state(self, state: Mapping[str, Any]) -> None:
        key = None if state["key"] is None else integer("key", state["key"], minimum=0, maximum=_WORD)
        epoch = integer("epoch", state["epoch"], minimum=0, maximum=_MOST_EPOCHS)
        position = integer("position", state["position"], minimum=0, maximum=self._size)
        shuffled = boolean("shuffled", state["shuffled"])
        self.key, self.epoch, self._position = key, epoch, position
        self._shuffled, self._permutation = shuffled, None
