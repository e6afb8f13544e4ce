"""A history in which older turns are folded into notes that keep every reference: :class:`FoldedHistory`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gem.arguments import integer
from gem.core import Action, Env, Info
from gem.errors import ArgumentTypeError
from gem.phases import EpisodePhase, out_of_order
from gem.text import action_text
from gem.tools.calls import all_tagged, native_calls
from gem.wrappers.history import Content, Message, copied, join, piece
from gem_rollout.history.messages import messages_from_state
from gem_rollout.history.references import ReferenceReader
from gem_rollout.history.shortened_history import HistoryForm, HistoryTurn, OlderTurns, ShortenedHistory
from gem_rollout.history.token_count import TokenCounter
from gem_rollout.history.turn_notes import NoteLimits, TurnNotes

__all__ = ["FoldedHistory"]

_HEADING = (
    "Earlier turns, folded. <unfold>REFERENCE</unfold> at the end of your answer shows what was said there, "
    "<unfold>turn 1</unfold> the whole turn; neither reaches the task or uses a turn of it.\n"
)
_TURN = re.compile(r"turn\s+([0-9]{1,9})", re.IGNORECASE | re.ASCII)
_MOST_UNFOLDED = 20


class FoldedHistory(ShortenedHistory):
    """Shows the first observation, a note of each older turn, and the latest turns as they were.

    A note has the agent's action without its reasoning, and every reference of the turn: addresses, and keys such as
    ``[12]`` (:class:`gem_rollout.history.references.ReferenceReader`). Nothing of a turn is lost: an action that ends
    with ``<unfold>12, a17</unfold>`` is answered with the lines that name these references, and one with
    ``<unfold>turn 3</unfold>`` with that turn. Such a step does not reach the environment, uses none of its turns and
    earns 0.0; its ``info`` has ``unfolded``, the names that were found. After ``max_unfolds`` of them, the environment
    gets such an action like any other.

    Notes that cost more than ``note_tokens`` together are folded once more, the oldest first and down to half of that:
    to their bare references and the agent's own lines that name some, its findings. So an observation has at most the
    tokens of the first observation, ``note_tokens``, each older reference and each finding once, and the latest turns.
    A note names at most ``reference_characters`` of references and counts the others, which the whole turn shows.

    Args:
        env: the environment.
        after_turns: turns above which older ones are folded; None for no such limit.
        after_tokens: tokens of the turns above which older ones are folded; None for no such limit.
        keep_turns: number of latest turns that stay unchanged.
        note_tokens: tokens of all notes above which the oldest are reduced to references.
        references: a regular expression for the references of an environment that has others; None for those above.
        noter: a callable from the chat messages of the turns that are folded to their note, such as a model behind a
            function; references that its text lacks are added. It must be deterministic for episodes to be
            reproducible; ``step`` passes its exceptions on, and the next step asks it again. None: the notes above.
        action_characters: of an action in its note.
        label_characters: of what follows a reference where it appears first, and of an observation without any.
        reference_characters: of references in a note.
        max_unfolds: unfoldings in an episode.
        tokenizer: counts tokens; see :class:`gem_rollout.history.context.TokenBudget`.
        form: as for :class:`gem_rollout.history.context.SlidingWindow`.
        announce: as there.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        after_turns: int | None = 20,
        after_tokens: int | None = None,
        keep_turns: int = 5,
        note_tokens: int = 16_000,
        references: str | None = None,
        noter: Callable[[list[Message]], str] | None = None,
        action_characters: int = 300,
        label_characters: int = 40,
        reference_characters: int = 1_000,
        max_unfolds: int = 100,
        tokenizer: Any = None,
        form: HistoryForm = "text",
        announce: bool = False,
    ) -> None:
        super().__init__(env, form, announce)
        if noter is not None and not callable(noter):
            raise ArgumentTypeError(f"noter must be callable, got an object of type {type(noter).__name__}")
        self._older = OlderTurns(after_turns, after_tokens, keep_turns)
        self._note_tokens = integer("note_tokens", note_tokens, minimum=1)
        self._reader = ReferenceReader(references)
        self._noter = noter
        self._limits = NoteLimits(
            integer("action_characters", action_characters, minimum=1),
            integer("label_characters", label_characters, minimum=0),
            integer("reference_characters", reference_characters, minimum=1),
        )
        self._max_unfolds = integer("max_unfolds", max_unfolds, minimum=0)
        self._count = TokenCounter(tokenizer, 0)
        self._phase = EpisodePhase.NOT_BEGUN
        self._forget()

    def _forget(self) -> None:
        self._known = TurnNotes(self._reader, self._limits)
        self._folded: list[list[Message]] = []
        """The messages of the turns that are folded."""
        self._notes: list[tuple[int, str, int]] = []
        """The last turn of each note, its text and its tokens."""
        self._bare = 0
        """The number of turns of which only references and findings are left."""
        self._unfolds = 0
        self._told = ""
        """All notes as one text."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        result = super().reset(seed=seed, options=options)
        self._phase = EpisodePhase.PLAYING
        return result

    def step(self, action: Action) -> tuple[Any, float, bool, bool, Info]:
        """Play one turn, or unfold.

        Raises:
            ResetNeededError, EpisodeFinishedError: outside an episode.
        """
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        wanted = _wanted(action) if self._unfolds < self._max_unfolds else None
        if wanted is None:
            result = super().step(action)
            if result[2] or result[3]:
                self._phase = EpisodePhase.OVER
            return result
        self._unfolds += 1
        answer, found = self._unfold(wanted)
        info: Info = {"unfolded": found}
        self._extend(action, answer, info)
        return self._shown(info), 0.0, False, False, info

    def _announcement(self) -> str:
        return "Older turns are shown to you as notes that keep their references, the latest as they were."

    def _cost(self, messages: list[Message], text: Content) -> int:
        return 0 if self._older.after_tokens is None else self._count(text)

    def _begin(self, observation: Content) -> None:
        super()._begin(observation)
        self._forget()

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        super()._extend(action, observation, info)
        self._known.add(self._turns[-1].messages)

    def _shorten(self, info: Info) -> None:
        older = self._turns[: self._older(self._turns)]
        if not older:
            return
        first = len(self._folded) + 1
        last = len(self._folded) + len(older)
        if self._noter is None:
            notes = [(number, self._known.note(number)) for number in range(first, last + 1)]
        else:
            notes = [(last, self._written(older, first, last))]
        self._folded += [turn.messages for turn in older]
        self._turns = self._turns[len(older) :]
        self._notes += [(number, note, self._count(note) + 1) for number, note in notes]
        cost = sum(tokens for _, _, tokens in self._notes)
        if cost > self._note_tokens:
            while cost > self._note_tokens // 2 and self._notes:
                self._bare, _, tokens = self._notes.pop(0)
                cost -= tokens
        self._told = self._all_notes()

    def _all_notes(self) -> str:
        bare = [self._known.bare(self._bare)] if self._bare else []
        return _HEADING + "\n".join([*bare, *(note for _, note, _ in self._notes)])

    def _written(self, turns: list[HistoryTurn], first: int, last: int) -> str:
        """Return the note of turns that the noter writes, with the references that it lacks."""
        assert self._noter is not None
        text = self._noter(
            [{"role": "user", "content": self._opening()}, *(m for turn in turns for m in turn.messages)]
        )
        if not isinstance(text, str):
            raise ArgumentTypeError(f"the noter must return a str, got {type(text).__name__}")
        return f"{first} to {last}. {text}{self._known.missing(text, first, last)}"

    def _opening(self) -> Content:
        return join((piece(self._first), self._told)) if self._folded else self._first

    def _unfold(self, wanted: str) -> tuple[Content, list[str]]:
        """Return the answer to an unfolding, and the names that were found."""
        told: list[Content] = []
        found: list[str] = []
        names = _names(wanted) if self._known.passages(wanted) is None else [wanted]
        for name in names[:_MOST_UNFOLDED]:
            turn = _TURN.fullmatch(name)
            content = self._turn_again(int(turn[1])) if turn is not None else self._known.passages(name)
            if content is None:
                told.append(f"No earlier turn has {name[:200]!r}.\n")
            else:
                found.append(name)
                told.append(piece(content))
        if len(names) > _MOST_UNFOLDED:
            told.append(f"At most {_MOST_UNFOLDED} are unfolded at once; left out: {len(names) - _MOST_UNFOLDED}.\n")
        return join(told) if told else "Name what to unfold: <unfold>REFERENCE</unfold>.\n", found

    def _turn_again(self, number: int) -> Content | None:
        turns = [*self._folded, *(turn.messages for turn in self._turns)]
        if not 1 <= number <= len(turns):
            return None
        return join([f"Turn {number}:\n", self._turn(turns[number - 1]).text])

    def _own_state(self) -> Info:
        return {
            **super()._own_state(),
            "phase": self._phase.value,
            "folded": copied(self._folded),
            "notes": [[last, note] for last, note, _ in self._notes],
            "bare": self._bare,
            "unfolds": self._unfolds,
        }

    def _set_own_state(self, state: Info) -> None:
        phase = EpisodePhase(state["phase"])
        folded = [messages_from_state(messages) for messages in state["folded"]]
        bare = integer("bare", state["bare"], minimum=0, maximum=len(folded))
        unfolds = integer("unfolds", state["unfolds"], minimum=0, maximum=self._max_unfolds)
        notes = []
        for last, note in state["notes"]:
            if not isinstance(note, str):
                raise TypeError("a note must be a str")
            notes.append((integer("last turn of a note", last, minimum=1, maximum=len(folded)), note))
        known = TurnNotes(self._reader, self._limits)
        for messages in [*folded, *map(messages_from_state, state["turns"])]:
            if not messages:
                raise ValueError("a turn needs messages")
            known.add(messages)
        super()._set_own_state(state)
        self._phase, self._folded, self._bare, self._unfolds, self._known = phase, folded, bare, unfolds, known
        self._notes = [(last, note, self._count(note) + 1) for last, note in notes]
        self._told = self._all_notes()


def _wanted(action: Action) -> str | None:
    """Return what an action wants to unfold; None if it does not end with an unfolding."""
    text = action_text(action)
    if text is None or native_calls(action):
        return None
    content, end = max(all_tagged(text, "unfold"), key=lambda one: one[1], default=("", -1))
    return content.strip() if end == len(text.rstrip()) else None


def _names(wanted: str) -> list[str]:
    """Return the references in the content of an unfolding, without brackets, each once."""
    # An address may have a comma in it, and no blank.
    names = re.split(r"[,;]\s+|[,;]$|\n" if "://" in wanted else r"[,;\n]", wanted)
    return list(
        dict.fromkeys(filter(None, (name.strip().removeprefix("[").removesuffix("]").strip() for name in names)))
    )
