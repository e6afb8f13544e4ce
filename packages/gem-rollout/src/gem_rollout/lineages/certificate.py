"""What the record of an episode proves about its tokens: :func:`certify`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite

from gem.errors import TrajectoryError
from gem_rollout.lineages.call import RecordedCall, chained_line, token_digest
from gem_rollout.lineages.leaf_rows import leaf_rows
from gem_rollout.lineages.tree import LineageTree, lineages_of
from gem_rollout.trajectory.record import Trajectory

__all__ = ["TokenCertificate", "certify", "certify_calls"]

_ROUNDING = 1e-4
"""By how much engines report log-probabilities above 0."""


@dataclass
class TokenCertificate:
    """What was found, in counts of calls to the model."""

    calls: int = 0
    prompts_proved: int = 0
    """Prompts whose ids are those of which the engine said that it took them."""
    answers_proved: int = 0
    """Answers whose ids are those of which the engine said that it sampled them."""
    continued: int = 0
    """Prompts that are, id by id, the prompt before, what was sampled for it, and new ids."""
    rows: int = 0
    sampled_tokens: int = 0
    """Those that the rows hold as sampled, each once."""
    faults: list[str] = field(default_factory=list)
    """What cannot be true, a sentence each."""
    open: Counter[str] = field(default_factory=Counter)
    """What cannot be proved, and in how many calls."""

    @property
    def holds(self) -> bool:
        """Whether nothing contradicts the record; :attr:`open` says what it leaves open."""
        return not self.faults

    def add(self, other: TokenCertificate, where: str) -> None:
        """Add the counts of another one; its faults get a place before them."""
        for name in ("calls", "prompts_proved", "answers_proved", "continued", "rows", "sampled_tokens"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults += [f"{where}: {fault}" for fault in other.faults]
        self.open += other.open


def certify(trajectory: Trajectory) -> TokenCertificate:
    """Return what the record of an episode proves about its tokens.

    Of a program behind a gateway each call is checked; of a policy that GEM asked, each turn.
    """
    try:
        tree = lineages_of(trajectory)
    except TrajectoryError as error:
        return TokenCertificate(faults=[f"the record of the calls is malformed: {error}"])
    if tree is None:
        return _of_turns(trajectory)
    certificate = certify_calls(tree)
    turns = [call.turn for call in tree.calls if call.turn is not None]
    if any(turn > len(trajectory) for turn in turns):
        certificate.faults.append(f"a call came after {max(turns)} turns, and the episode has {len(trajectory)}")
    return certificate


def certify_calls(tree: LineageTree) -> TokenCertificate:
    """Return what the record of a program's calls proves; see :func:`certify`."""
    certificate = TokenCertificate(calls=len(tree.calls))
    before = ""
    for index, (call, digest) in enumerate(zip(tree.calls, tree.digests, strict=True)):
        before, _ = chained_line(before, call.to_dict())
        if digest != before:
            certificate.faults.append(f"call {index} is not as it was recorded, or one before it was lost or moved")
            before = digest
        if call.parent is not None and tree.calls[call.parent].answer is None:
            certificate.faults.append(f"call {index} continues call {call.parent}, which has no answer")
        _check_call(tree, index, certificate)
    if tree.sealed is not None and tree.sealed != (tree.digests[-1] if tree.digests else ""):
        certificate.faults.append("calls at the end of the record were lost, or others were added")
    _check_rows(tree, certificate)
    return certificate


def _check_call(tree: LineageTree, index: int, certificate: TokenCertificate) -> None:
    call = tree.calls[index]
    if call.answer is None:
        if call.error is None:
            certificate.faults.append(f"call {index} has neither an answer nor an error")
        certificate.open["calls without an answer"] += 1
        return
    certificate.faults += [f"call {index}: {fault}" for fault in _answer_faults(call)]
    try:
        prompt = tree.prompt_ids(index)
    except TrajectoryError as error:
        certificate.faults.append(str(error))
        return
    certificate.continued += call.exact
    if prompt is None:
        certificate.open["prompts whose ids the server did not give"] += 1
    elif call.evidence.prompt is None:
        certificate.open["prompts of which the server did not say which ids it took"] += 1
    elif call.evidence.prompt == _digest(prompt):
        certificate.prompts_proved += 1
    else:
        certificate.faults.append(f"call {index}: its prompt is not what the engine took")
    if call.token_ids is None:
        certificate.open["answers whose ids the server did not give"] += 1
    elif call.evidence.sampled is None:
        certificate.open["answers of which nothing was noted when they arrived"] += 1
    elif call.evidence.sampled == _digest(call.token_ids):
        certificate.answers_proved += 1
    else:
        certificate.faults.append(f"call {index}: its ids are not those that the engine sampled")


def _answer_faults(call: RecordedCall) -> Iterator[str]:
    if call.logprobs is None:
        return
    if call.token_ids is None or len(call.logprobs) != len(call.token_ids):
        yield f"{len(call.logprobs)} log-probabilities for {len(call.token_ids or [])} sampled ids"
    for place, value in enumerate(call.logprobs):
        if not isfinite(value) or value > _ROUNDING:
            yield f"the log-probability {value!r} of token {place} is none"
            return


def _digest(ids: list[int]) -> str | None:
    try:
        return token_digest(ids)
    except TrajectoryError:
        return None


def _check_rows(tree: LineageTree, certificate: TokenCertificate) -> None:
    """Check the rows against the calls: shown and sampled ids in their places, each sampled id in one row."""
    try:
        rows, _ = leaf_rows(tree, side=True)
        sampled: Counter[int] = Counter()
        for row in rows:
            certificate.rows += 1
            for index in dict.fromkeys(call for call in row.calls if call >= 0):
                places = [place for place, call in enumerate(row.calls) if call == index]
                first, count = places[0], len(places)
                sampled[index] += count
                prompt = tree.prompt_ids(index)
                if places != list(range(first, first + count)) or row.token_ids[:first] != prompt:
                    certificate.faults.append(f"row {row.leaf}: call {index} does not stand after its prompt")
                if row.token_ids[first : first + count] != tree.calls[index].token_ids:
                    certificate.faults.append(f"row {row.leaf}: its ids are not those of call {index}")
        for index, count in sampled.items():
            if count != len(tree.calls[index].token_ids or ()):
                certificate.faults.append(f"the rows hold {count} sampled ids of call {index}, not all or some twice")
        certificate.sampled_tokens += sum(sampled.values())
    except TrajectoryError as error:
        certificate.faults.append(str(error))


def _of_turns(trajectory: Trajectory) -> TokenCertificate:
    certificate = TokenCertificate(calls=len(trajectory))
    for index, (turn, continued) in enumerate(
        zip(trajectory.transitions, trajectory.prompt_continuations(), strict=True)
    ):
        call = RecordedCall([], {}, token_ids=turn.token_ids, logprobs=turn.logprobs)
        certificate.faults += [f"turn {index}: {fault}" for fault in _answer_faults(call)]
        certificate.continued += bool(continued)
        certificate.sampled_tokens += len(turn.token_ids or ())
        if turn.prompt_token_ids is None or turn.token_ids is None:
            certificate.open["turns whose ids are not recorded"] += 1
        else:
            certificate.open["turns with ids of which nothing was noted when they arrived"] += 1
    return certificate
