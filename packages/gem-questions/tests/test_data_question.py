"""Environments that ask one question an episode."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    DatasetError,
    EpisodeFinishedError,
    NotSupportedError,
    ResetNeededError,
    StateError,
)
from gem.phases import EpisodePhase
from gem.text import TERMINAL_STATE, extract_last_boxed_answer
from gem_questions import GeneratedRows, Grade, OraclePolicy, QuestionEnv, RowStream, open_rows

ROWS = [{"question": f"What is {number} plus 1?", "answer": str(number + 1)} for number in range(10)]

PACKAGE = r"""
from gem_questions import Grade, QuestionEnv, open_rows
from gem.text import extract_last_boxed_answer
from pathlib import Path

class SumsEnv(QuestionEnv):
    def __init__(self, streaming: bool = False, shuffle: bool = True, seed: int | None = None) -> None:
        rows = open_rows(Path(__file__).parent / "sums.jsonl", streaming=streaming)
        super().__init__(rows, shuffle=shuffle, seed=seed, columns=() if streaming else ("question", "answer"))

    def question(self, row):
        return f"{row['question']} Put the answer in \\boxed{{}}."

    def grade(self, action, row):
        answer = extract_last_boxed_answer(action)
        correct = answer == row["answer"]
        return Grade(float(correct), correct, answer is not None, {"expected": row["answer"]})

    def reference_answer(self, row):
        return f"\\boxed{{{row['answer']}}}"
"""

MANIFEST = """
schema = 1
[[environment]]
id = "sums:Sums-v0"
entry_point = "sums_envs:SumsEnv"
description = "Add one."
turns = "single"
reward_range = [0.0, 1.0]
reference_policy = "gem.data:OraclePolicy"
reference_sees = "state"
[environment.variants]
ordered = { shuffle = false }
streamed = { streaming = true }
"""


class SumsEnv(QuestionEnv):
    """Asks for sums."""

    def __init__(self, rows: Any = ROWS, shuffle: bool = True, seed: int | None = None) -> None:
        super().__init__(rows, shuffle=shuffle, seed=seed)

    def question(self, row: Mapping[str, Any]) -> str:
        return str(row["question"])

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        answer = extract_last_boxed_answer(action)
        return Grade(float(answer == row["answer"]), answer == row["answer"], answer is not None)

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        return f"\\boxed{{{row['answer']}}}"


class JudgedSumsEnv(SumsEnv):
    """Grades with verdicts: an answer that is no number cannot be read."""

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        answer = extract_last_boxed_answer(action)
        if answer is None:
            return Grade(0.0, correct=False, well_formed=False)
        if not answer.isdigit():
            return Grade(0.0, correct=False, verdict="unreadable")
        grade = super().grade(action, row)
        return replace(grade, verdict="same" if grade.correct else "different")


def asked(env: QuestionEnv, count: int) -> list[int]:
    """The indices of the next questions."""
    return [env.reset()[1]["index"] for _ in range(count)]


@pytest.mark.parametrize(
    ("action", "verdict", "reward"),
    [
        ("\\boxed{1}", "same", 1.0),
        ("\\boxed{2}", "different", 0.0),
        ("\\boxed{one}", "unreadable", 0.0),
        ("one", "unreadable", 0.0),
    ],
)
def test_the_verdict_of_the_grader_is_in_info(action: str, verdict: str, reward: float) -> None:
    """The verdict is in the info of the step as ``grade``; an answer in another form than asked for is unreadable."""
    env = JudgedSumsEnv([{"question": "0 + 1?", "answer": "1"}])
    env.reset(seed=0)
    info = env.step(action)[4]
    assert info.get("grade") == verdict
    assert info["correct"] == (reward == 1.0)


def install(site: Any) -> None:
    lines = "".join(json.dumps({"question": f"{n} + 1?", "answer": str(n + 1)}) + "\n" for n in range(300))
    files = {"sums_envs/__init__.py": PACKAGE, "sums_envs/environments.toml": MANIFEST, "sums_envs/sums.jsonl": lines}
    site.add("sums-envs", {"sums": "sums_envs"}, files)
    (site.folder / "sums_envs-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: sums-envs\nVersion: 1.0\nRequires-Dist: gem-core\nRequires-Dist: gem-questions\n"
    )


@pytest.mark.sampled(1)
@pytest.mark.slow(reason="every clause, also those that start processes")
@pytest.mark.parametrize(
    ("variant", "processes"),
    [
        ("", True),
        ("-ordered", False),
        ("-streamed", False),
        pytest.param("-ordered", True, marks=pytest.mark.nightly),
        pytest.param("-streamed", True, marks=pytest.mark.nightly),
    ],
)
def test_every_clause_of_the_kit_holds(variant: str, processes: bool, site: Any) -> None:
    """An environment with three methods of its own keeps the whole contract."""
    from gem_testing import CLAUSES, ClauseOutcome, EnvUnderTest, run_clauses

    install(site)
    clauses = [name for name, clause in CLAUSES.items() if processes or not clause.processes]
    results = list(run_clauses(EnvUnderTest(f"sums:Sums-v0{variant}"), clauses))
    assert [(result.clause, result.message) for result in results if result.outcome is not ClauseOutcome.HOLDS] == []


@pytest.mark.parametrize("mode", ["sync", "thread"])
def test_environments_made_together_ask_different_questions(mode: str, site: Any) -> None:
    """Seeded or not, 64 environments of a batch do not all begin with one question, nor ask in one order."""
    install(site)
    for seed in (None, 0, 7):
        with gem.make_vec("sums:Sums-v0", num_envs=64, mode=mode, seed=seed) as envs:
            _, infos = envs.reset()
            assert len({info["index"] for info in infos}) > 40
            later = [[info["index"] for info in envs.reset()[1]] for _ in range(2)]
            assert len(set(zip(*later, strict=True))) > 55


def test_a_seeded_batch_repeats(site: Any) -> None:
    """The seed of make_vec decides what every environment of the batch asks."""
    install(site)
    seen = []
    for _ in range(2):
        with gem.make_vec("sums:Sums-v0", num_envs=8, seed=3) as envs:
            seen.append([[info["index"] for info in envs.reset()[1]] for _ in range(3)])
    assert seen[0] == seen[1]


@given(st.integers(1, 40), st.integers(0, 2**100))
def test_every_epoch_asks_every_row_once(size: int, seed: int) -> None:
    """Epochs are counted, complete, and in orders of their own; the same seed asks the same again."""
    env = SumsEnv(rows=GeneratedRows(lambda _, i: ROWS[i % 10], size))
    epochs = [[env.reset(seed=seed)[1]["index"], *asked(env, size - 1)]]
    epochs += [asked(env, size) for _ in range(3)]
    assert all(sorted(epoch) == list(range(size)) for epoch in epochs)
    assert env.epoch == 3
    if size > 12:
        assert len({tuple(epoch) for epoch in epochs}) == 4
    assert [env.reset(seed=seed)[1]["index"], *asked(env, size - 1)] == epochs[0]
    assert env.epoch == 0


def test_without_shuffling_the_rows_come_as_they_lie() -> None:
    """A seed says where to begin, so that seeds one after the other ask the rows one after the other."""
    env = SumsEnv(shuffle=False)
    assert asked(env, 12) == [*range(10), 0, 1]
    assert [env.reset(seed=seed)[1]["index"] for seed in (3, 4, 13)] == [3, 4, 3]
    assert asked(env, 7) == [4, 5, 6, 7, 8, 9, 0]
    assert [SumsEnv(shuffle=False).reset(seed=seed)[1]["index"] for seed in range(10)] == list(range(10))


def test_the_constructor_seed_is_that_of_the_first_reset() -> None:
    """An environment made with a seed and reset without one asks what reset(seed) would ask."""
    for shuffle in (True, False):
        env, other = SumsEnv(seed=5, shuffle=shuffle), SumsEnv(shuffle=shuffle)
        other.reset(seed=5)
        assert env.reset()[1]["index"] == other.index
        assert asked(env, 20) == asked(other, 20)
    assert asked(SumsEnv(seed=5), 10) != asked(SumsEnv(seed=6), 10)


def test_an_environment_that_nobody_seeds_begins_anywhere() -> None:
    """Without any seed the order comes from the environment's own generator."""
    assert len({SumsEnv().reset()[1]["index"] for _ in range(200)}) == 10


def test_an_index_asks_one_row_and_leaves_the_order() -> None:
    """The option index is for evaluation; the run goes on where it was."""
    env, untouched = SumsEnv(seed=1), SumsEnv(seed=1)
    assert asked(env, 3) == asked(untouched, 3)
    assert [env.reset(options={"index": index})[0] for index in range(10)] == [row["question"] for row in ROWS]
    assert asked(env, 3) == asked(untouched, 3)
    assert env.reset(seed=4, options={"index": 6})[1]["index"] == 6
    untouched.reset(seed=4)
    assert env.reset()[1]["index"] == untouched.index


@pytest.mark.parametrize("index", [-1, 10, "0", 1.0, True, None])
def test_an_index_that_is_none_is_refused(index: object) -> None:
    """An index beyond the set, or of another type, is an error that says so; the episode before goes on."""
    env = SumsEnv()
    env.reset(seed=0)
    with pytest.raises((ArgumentError, ArgumentTypeError), match="index must be"):
        env.reset(options={"index": index})
    assert env.step(env.reference_answer(env.row))[1] == 1.0


def test_another_option_is_refused() -> None:
    """Only the option index exists."""
    with pytest.raises(ArgumentError, match=r"reset option 'index' alone, got .'indx'"):
        SumsEnv().reset(options={"indx": 3})


def test_a_step_grades_and_ends_the_episode() -> None:
    """Reward, flags and info of a right, a wrong and a malformed answer."""
    env = SumsEnv()
    for action, reward, status in ((r"\boxed{4}", 1.0, "legal"), (r"\boxed{5}", 0.0, "legal"), ("4", 0.0, "malformed")):
        assert env.reset(options={"index": 3}) == ("What is 3 plus 1?", {"turn": 0, "epoch": 0, "index": 3})
        info = {"turn": 1, "action_status": status, "correct": reward == 1.0, "index": 3}
        if status == "malformed":
            info["grade"] = "unreadable"
        assert env.step(action) == (TERMINAL_STATE, reward, True, False, info)
        with pytest.raises(EpisodeFinishedError, match="call reset"):
            env.step(action)


def test_nothing_happens_before_the_first_reset() -> None:
    """Row, step and sampling need a question; index and epoch say that there is none."""
    env = SumsEnv()
    for use in (lambda: env.row, lambda: env.step("x"), env.sample_random_action):
        with pytest.raises(ResetNeededError, match="reset"):
            use()
    assert env.index is None
    assert env.epoch == 0


def test_the_oracle_is_always_right() -> None:
    """The policy that reads the row gets full marks on every question."""
    env = SumsEnv()
    oracle = OraclePolicy(env)
    for index in range(10):
        observation, info = env.reset(options={"index": index})
        assert env.step(oracle.act(observation, info))[1] == 1.0


@given(st.lists(st.sampled_from(["reset", "seed", "index", "step", "sample"]), max_size=30), st.booleans())
def test_a_state_continues_the_run_anywhere(calls: list[str], shuffle: bool) -> None:
    """Whatever was done before, a twin from JSON, a pickle and a deep copy go on alike."""
    env = SumsEnv(shuffle=shuffle)
    for turn, call in enumerate(calls):
        if call == "seed":
            env.reset(seed=turn)
        elif call == "index":
            env.reset(options={"index": turn % 10})
        elif call == "step" and env._phase is EpisodePhase.PLAYING:
            env.step(r"\boxed{1}")
        elif call == "sample" and env._phase is not EpisodePhase.NOT_BEGUN:
            env.sample_random_action()
        else:
            env.reset()
    twin = SumsEnv(shuffle=shuffle)
    twin.set_state(json.loads(json.dumps(env.get_state())))
    others = [twin, pickle.loads(pickle.dumps(env)), copy.deepcopy(env), env.spawn(same_state=True)]
    for other in others:
        assert other.get_state() == env.get_state()
        assert (other.index, other.epoch, other._row) == (env.index, env.epoch, env._row)
    continued = [(asked(other, 15), other.sample_random_action()) for other in (env, *others)]
    assert continued.count(continued[0]) == 5


def test_a_damaged_state_changes_nothing() -> None:
    """Every part of a state is checked before anything is assigned."""
    env = SumsEnv()
    env.reset(seed=3)
    good = env.get_state()
    bad: list[Any] = [None, {}, {**good, "phase": "?"}, {**good, "index": 10}, {**good, "index": None}]
    bad += [{**good, "order": {**good["order"], key: -1}} for key in good["order"]]
    bad += [{**good, "order": {**good["order"], "key": None}}, {**good, "rng": {}}, {**good, "phase": "not begun"}]
    for state in bad:
        with pytest.raises(StateError, match="not a state of SumsEnv"):
            env.set_state(state)
        assert env.get_state() == good


def test_a_function_is_asked_for_rows_when_they_are_needed() -> None:
    """Making the environment loads nothing, and the rows are loaded once."""
    calls = []

    def load() -> list[dict[str, str]]:
        calls.append(1)
        return ROWS

    env = SumsEnv(rows=load)
    assert calls == []
    env.reset()
    assert len(env.rows) == 10
    assert calls == [1]
    assert SumsEnv(rows=load).get_state()["phase"] == "not begun"


def test_rows_that_are_none_are_refused_at_once() -> None:
    """No rows, rows that are no dicts, and things that are no rows are errors of the constructor."""
    with pytest.raises(DatasetError, match="has no rows"):
        SumsEnv(rows=[])
    with pytest.raises(DatasetError, match="the first of these is str"):
        SumsEnv(rows=["a"])
    with pytest.raises(ArgumentTypeError, match="got int"):
        SumsEnv(rows=7)


def test_a_missing_column_is_an_error_that_names_those_there_are() -> None:
    """Where columns are declared, when the set is opened; otherwise when a row is asked."""

    class Declared(SumsEnv):
        def __init__(self) -> None:
            QuestionEnv.__init__(self, [{"problem": "1?", "solution": "1"}], columns=["problem", "answer"])

    with pytest.raises(DatasetError, match="no column 'answer'; it has the columns 'problem', 'solution'"):
        Declared()
    env = SumsEnv(rows=[*ROWS[:3], {"problem": "1?"}])
    with pytest.raises(DatasetError, match=r"row 3 of the data set has no column 'question'; it has .* 'problem'"):
        env.reset(options={"index": 3})


def test_a_subclass_that_gives_nothing_says_what_it_lacks() -> None:
    """The three methods of a subclass are named in the errors of one without them."""
    env = QuestionEnv(ROWS)
    with pytest.raises(NotSupportedError, match="question"):
        env.reset()
    with pytest.raises(NotSupportedError, match="grade"):
        env.grade("x", ROWS[0])
    with pytest.raises(NotSupportedError, match="reference_answer"):
        env.reference_answer(ROWS[0])


class TestStreams:
    """Questions from sets that are read from front to back."""

    @pytest.fixture
    def stream(self, tmp_path: Path) -> RowStream:
        """Ten rows in three files, read three at a time."""
        for number, (begin, end) in enumerate(((0, 4), (4, 5), (5, 10))):
            text = "\n".join(json.dumps(row) for row in ROWS[begin:end])
            (tmp_path / f"train-{number:05}-of-00003.jsonl").write_text(text)
        stream = open_rows(tmp_path, streaming=True)
        assert isinstance(stream, RowStream)
        return RowStream(stream.shards, buffer=3)

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_every_epoch_asks_every_row_once(self, stream: RowStream, shuffle: bool) -> None:
        """Shuffled or not, each epoch is complete, and the same seed asks the same again."""
        env = SumsEnv(stream, shuffle=shuffle)
        questions = [row["question"] for row in ROWS]
        epochs = [[env.reset(seed=5)[0], *(env.reset()[0] for _ in range(9))]]
        epochs += [[env.reset()[0] for _ in range(10)] for _ in range(3)]
        assert all(sorted(epoch) == questions for epoch in epochs)
        assert (epochs[0] == questions) == (not shuffle)
        assert len({tuple(epoch) for epoch in epochs}) == (4 if shuffle else 1)
        assert [env.reset(seed=5)[0], *(env.reset()[0] for _ in range(9))] == epochs[0]

    @pytest.mark.parametrize("shuffle", [True, False])
    @pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 9, 10, 11, 13, 20, 25])
    def test_a_state_continues_anywhere(self, stream: RowStream, steps: int, shuffle: bool) -> None:
        """A twin goes on from the buffer and the row at which the first was."""
        env, twin = SumsEnv(stream, shuffle=shuffle, seed=2), SumsEnv(stream, shuffle=shuffle)
        for _ in range(steps):
            env.reset()
        twin.set_state(json.loads(json.dumps(env.get_state())))
        if steps:
            assert twin.row == env.row
            assert [env.reset()[0] for _ in range(12)] == [twin.reset()[0] for _ in range(12)]
            assert env.sample_random_action() == twin.sample_random_action()

    def test_a_stream_has_no_index(self, stream: RowStream) -> None:
        """Neither as an option nor in info."""
        env = SumsEnv(stream)
        assert "index" not in env.reset(seed=1)[1]
        assert env.index is None
        with pytest.raises(ArgumentError, match="streamed has no index"):
            env.reset(options={"index": 0})

    def test_a_damaged_state_changes_nothing(self, stream: RowStream) -> None:
        """A place beyond the stream is refused, and the run goes on as before."""
        env = SumsEnv(stream, seed=1)
        for _ in range(5):
            env.reset()
        good = env.get_state()
        for change in ({"taken": 4}, {"shard": 99}, {"place": -1}, {"key": None}, {"epoch": "0"}):
            with pytest.raises(StateError):
                env.set_state({**good, "order": {**good["order"], **change}})
            assert env.get_state() == good
        twin = SumsEnv(stream)
        twin.set_state(good)
        assert [env.reset()[0] for _ in range(9)] == [twin.reset()[0] for _ in range(9)]
