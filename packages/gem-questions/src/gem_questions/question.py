"""Environments that ask one question an episode: :class:`QuestionEnv`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gem.arguments import boolean, integer, seed_value
from gem.core import Action, Env, Info, Observation
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    DatasetError,
    NotSupportedError,
    ResetNeededError,
    StateError,
)
from gem.phases import EpisodePhase, out_of_order
from gem.policies import Policy
from gem.text import TERMINAL_STATE
from gem_questions.order import Order, order_of
from gem_questions.rows import open_rows
from gem_questions.stream import RowStream
from gem_questions.tables import Row, Rows

__all__ = ["Grade", "OraclePolicy", "QuestionEnv", "RowMap"]

RowMap = Callable[[Mapping[str, Any]], Mapping[str, Any] | tuple[Any, Any]]
"""A function from a row of a set to the row that is asked, or to a pair of question and answer."""

_SAMPLE = 5
"""Rows that are checked when a set is opened: enough that one bad row does not decide, few enough to cost nothing."""


@dataclass(frozen=True)
class Grade:
    """The grade of an answer."""

    reward: float
    correct: bool
    well_formed: bool = True
    """Whether the answer has the requested format."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the step's info; JSON values that share nothing with the row."""
    verdict: Literal["same", "different", "unreadable"] | None = None
    """What the grader said. ``"unreadable"`` where it could not tell, which pays 0.0; None if it knows no verdicts, or
    was not asked."""
    fault: str | None = field(default=None, repr=False)
    """Why the grader could not tell, where that is not the answer's doing: no readable gold, no sandbox."""


class QuestionEnv(Env[Observation, Action]):
    """Asks one question of a set in each episode, and grades the answer.

    A subclass defines :meth:`question`, :meth:`grade` and :meth:`reference_answer`, and calls ``super().__init__``.

    **Order.** A reset with a seed begins an order that follows from the seed; resets without one continue it. With
    ``shuffle``, every epoch asks every row once, in an order of its own that needs no memory. Otherwise the rows keep
    the order of the set, from row ``seed % len(rows)`` on. ``reset(options={"index": i})`` asks row i and leaves the
    order unchanged.

    **Streams.** A set that is opened with ``streaming=True`` has no index, neither as an option nor in ``info``, and is
    shuffled within a buffer; see :class:`gem_questions.stream.RowStream`.

    **Info.** ``reset``: ``turn`` (0), ``index`` and ``epoch`` of the row. ``step``: ``turn`` (1), ``index``,
    ``action_status``, ``correct``, ``grade`` (the verdict, where there is one), ``grader_fault`` where the grader
    failed, and the keys that the grade adds.

    Args:
        rows: the set, or a function that returns it on first use. Pass the result of :func:`gem_questions.open_rows`
            where a missing set must be an error when the environment is made.
        shuffle: ask in a random order.
        seed: seed of the order until a reset gives another. None: this environment's own generator decides, so that
            environments without a seed ask different questions.
        columns: names that every row must have. The first row is checked when the set is opened; a later row without
            a column is a DatasetError when its turn comes.
        map_row: a function from a row of the set to the row that is asked: a dict, or a pair of question and answer,
            which becomes the columns ``question`` and ``answer``. It is called when the row's turn comes.
    """

    follows_order = True

    def __init__(
        self,
        rows: Rows | RowStream | Callable[[], Rows | RowStream],
        *,
        shuffle: bool = True,
        seed: int | None = None,
        columns: Iterable[str] = (),
        map_row: RowMap | None = None,
    ) -> None:
        if map_row is not None and not callable(map_row):
            raise ArgumentTypeError(f"map_row must be a function of a row, got {map_row!r:.80}")
        self._map_row = map_row
        self._source = rows
        self._shuffle = boolean("shuffle", shuffle)
        self._first_seed = None if seed is None else seed_value(seed)
        self._columns = tuple(columns)
        self._rows: Rows | RowStream | None = None
        self._order: Order | None = None
        self._phase = EpisodePhase.NOT_BEGUN
        self._index: int | None = None
        self._epoch = 0
        self._row: Row | None = None
        if not callable(rows):
            self._open(rows)

    def question(self, row: Mapping[str, Any]) -> Observation:
        """Return the question to the agent, with the format of the answer."""
        raise NotSupportedError(f"{type(self).__name__} does not implement question")

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        """Grade an action of any kind; see :func:`gem.text.action_text`. Must not raise or hang."""
        raise NotSupportedError(f"{type(self).__name__} does not implement grade")

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        """Return an action that earns the full reward."""
        raise NotSupportedError(f"{type(self).__name__} does not implement reference_answer")

    def check_row(self, row: Mapping[str, Any]) -> None:
        """Raise DatasetError if a row cannot be asked and graded.

        The first rows are checked when a set is opened that is not streamed, which fails if none of them can be asked.
        """

    @property
    def rows(self) -> Rows:
        """The set, loaded on first access; a :class:`gem_questions.RowStream` where it is streamed."""
        if self._rows is None:
            source: Any = self._source
            self._open(source())
        assert self._rows is not None
        return self._rows  # type: ignore[return-value]  # only the caller of open_rows knows

    @property
    def row(self) -> Mapping[str, Any]:
        """The row of this episode."""
        if self._row is None:
            raise ResetNeededError(f"{self!r} has asked nothing yet; call reset() first")
        return self._row

    @property
    def index(self) -> int | None:
        """Index of this episode's row in the set; None before the first episode, and for a streamed set."""
        return self._index

    @property
    def epoch(self) -> int:
        """Number of times that the order had covered the whole set before this episode."""
        return self._epoch

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Ask a question; the class describes the order.

        Args:
            seed: begins a new order.
            options: ``{"index": i}`` asks the row at that index of the set, from 0.

        Raises:
            ArgumentError, ArgumentTypeError: for an unknown option, an invalid seed, or a missing row.
            DatasetError: if the set or the row is unavailable.
        """
        order = self._order or self._opened()
        if options and options.keys() != {"index"}:
            raise ArgumentError(
                f"{type(self).__name__} has the reset option 'index' alone, got {sorted(map(str, options))}"
            )
        if seed is None and order.key is None:
            seed = self._first_seed
        if seed is not None:
            super().reset(seed=seed)
            order.begin(self.rng.getrandbits(64), seed)
        elif order.key is None:
            order.begin(self.rng.getrandbits(64), None)
        index, found = order.at(options["index"]) if options else order.next()
        row = self._as_row(index, found)
        observation = self.question(row)
        self._index, self._row, self._epoch, self._phase = index, row, order.epoch, EpisodePhase.PLAYING
        info: Info = {"turn": 0, "epoch": self._epoch}
        if index is not None:
            info["index"] = index
        return observation, info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        """Grade the answer, which ends the episode."""
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        assert self._row is not None
        self._phase = EpisodePhase.OVER
        grade = self.grade(action, self._row)
        info: Info = {
            "turn": 1,
            "action_status": "legal" if grade.well_formed else "malformed",
            "correct": grade.correct,
        }
        if self._index is not None:
            info["index"] = self._index
        if grade.verdict is not None or not grade.well_formed:
            info["grade"] = grade.verdict or "unreadable"
        if grade.fault is not None:
            info["grader_fault"] = grade.fault
        if grade.info:
            info.update(grade.info)
        return TERMINAL_STATE, grade.reward, True, False, info

    def sample_random_action(self) -> Action:
        """Return the reference answer of a random row: always in the right format, and sometimes right.

        Raises:
            ResetNeededError: before the first reset.
        """
        if self._row is None or self._order is None:
            raise ResetNeededError(f"{self!r} has asked nothing yet; call reset() first")
        return self.reference_answer(self._as_row(None, self._order.random(self.action_rng)))

    def get_state(self) -> dict[str, Any]:
        """Return the position in the order; see :meth:`gem.Env.get_state`. It holds no rows."""
        order = self._order or self._opened()
        return {
            "phase": self._phase.value,
            "index": self._index,
            "asked_in_epoch": self._epoch,
            "order": order.get_state(),
            **self.generator_state(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that ``get_state`` returned; StateError leaves this environment unchanged."""
        order = self._order or self._opened()
        before = order.get_state()
        try:
            phase = EpisodePhase(state["phase"])
            epoch = integer("asked_in_epoch", state["asked_in_epoch"], minimum=0)
            order.set_state(state["order"])
            if phase is not EpisodePhase.NOT_BEGUN and order.key is None:
                raise StateError("a question was asked, and its order never began")
            index, row = state["index"], None
            if phase is not EpisodePhase.NOT_BEGUN:
                index, found = order.at(index)
                row = self._as_row(index, found)
            elif index is not None:
                raise StateError("no question was asked, and it has an index")
            self.set_generator_state(state)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            order.set_state(before)
            raise StateError(f"not a state of {type(self).__name__}: {error}") from error
        self._phase, self._index, self._epoch, self._row = phase, index, epoch, row

    def _open(self, rows: Rows | RowStream) -> None:
        if not isinstance(rows, RowStream):
            rows = open_rows(rows)
            self._check_sample(rows)
        self._order, self._rows = order_of(rows, self._shuffle), rows

    def _check_sample(self, rows: Rows) -> None:
        """Raise DatasetError if the first row lacks a column, or none of the first few rows can be asked."""
        first = self._as_row(0, rows[0])
        missing = [name for name in self._columns if name not in first]
        if missing:
            known = ", ".join(map(repr, first)) or "none"
            raise DatasetError(f"the data set has no column {missing[0]!r}; it has the columns {known}")
        fault: DatasetError | None = None
        for index in range(min(_SAMPLE, len(rows))):
            try:
                self.check_row(first if index == 0 else self._as_row(index, rows[index]))
                return
            except DatasetError as error:
                fault = fault or error
        if fault is not None:
            raise fault

    def _opened(self) -> Order:
        _ = self.rows
        assert self._order is not None
        return self._order

    def _as_row(self, index: int | None, found: Mapping[str, Any]) -> Row:
        row = Row(found if self._map_row is None else self._mapped(index, found))
        if index is not None:
            row.index = index
        return row

    def _mapped(self, index: int | None, found: Mapping[str, Any]) -> Mapping[str, Any]:
        assert self._map_row is not None
        try:
            mapped = self._map_row(found)
        except Exception as error:  # of the caller's function
            where = "a row of the data set" if index is None else f"row {index}"
            raise DatasetError(f"map_row failed on {where}: {type(error).__name__}: {error}") from error
        if isinstance(mapped, tuple) and len(mapped) == 2:
            return {"question": mapped[0], "answer": mapped[1]}
        if isinstance(mapped, Mapping):
            return mapped
        raise DatasetError(f"map_row must return a dict, or a pair of question and answer; it returned {mapped!r:.80}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled as its arguments and its state, since rows may be a mapped file or a function, which do not pickle.
        args, kwargs = self._arguments
        return _rebuilt, (type(self), args, kwargs, self.get_state(), self.spec)


class OraclePolicy(Policy[Any, str]):
    """Reads the answer from the environment, which proves that the grader accepts the answers of the set."""

    def __init__(self, env: QuestionEnv) -> None:
        self.env = env

    def act(self, observation: Any, info: Info) -> str:
        return self.env.reference_answer(self.env.row)


def _rebuilt(
    cls: type[QuestionEnv], args: tuple[Any, ...], kwargs: dict[str, Any], state: dict[str, Any], spec: Any
) -> QuestionEnv:
    env = cls(*args, **kwargs)
    env.spec = spec
    env.set_state(state)
    return env
