"""Results of runs for a hub: what is made of a run, how it is compared, and what a check finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gem.registry import spec as find_spec
from gem_eval.hub_results import (
    ListedResult,
    PublishedWheel,
    RunResult,
    check_result,
    leaderboards,
    raw_difference,
    results_of_run,
    rows_of,
    summary_difference,
)
from gem_eval.hub_results.checking import _replay
from gem_eval.hub_results.figures import summary_of
from gem_eval.runs import RunFolder, evaluate_sync
from gem_eval.statistics import compare_runs
from gem_hub_client.results.record import ResultError, ResultRecord, payload_of, read_payload

GAME = "game:GuessTheNumber-v0-easy"
EPISODES = 8
WHEEL = PublishedWheel("gem_envs_games-0.1.0-py3-none-any.whl", "a" * 64)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """A run of each scripted agent."""
    folder = tmp_path_factory.mktemp("runs")
    config = {"environment": [GAME], "episodes": EPISODES}
    return {
        agent: evaluate_sync({**config, "agent": agent}, out=folder / agent)
        for agent in ("reference", "random", "null")
    }


@pytest.fixture(scope="module")
def results(runs: dict[str, RunFolder]) -> dict[str, RunResult]:
    """The one result of each run."""
    return {agent: results_of_run(run)[0] for agent, run in runs.items()}


def published(result: RunResult, **changes: Any) -> ResultRecord:
    """Return a result as its publisher signs it, with other values and the figures that belong to them."""
    record = replace(result.published(WHEEL, "alice", "b" * 64), **changes)
    return replace(record, summary=summary_of(rows_of(record)))


def as_of_model(result: RunResult, **changes: Any) -> ResultRecord:
    """Return the result of a scripted agent as if a model had played, so that its actions are played again."""
    return published(result, agent="model", model="small", harness="gem-eval", **changes)


def test_a_result_says_all_of_its_run(runs: dict[str, RunFolder], results: dict[str, RunResult]) -> None:
    """Every episode is listed with the row's figures and the digest of its line, and the payload holds the same."""
    for agent, run in runs.items():
        record, rows = published(results[agent]), sorted(run.rows(), key=lambda row: row.seed)
        assert [episode.sha256 for episode in record.episodes] == [sha256(run.raw(row)).hexdigest() for row in rows]
        assert [(one.seed, one.outcome, one.episode_return) for one in record.episodes] == [
            (row.seed, row.outcome, row.episode_return) for row in rows
        ]
        assert (record.agent, record.harness, record.package) == (agent, "scripted", "gem-envs-games")
        assert read_payload(payload_of(record)) == record
        assert not summary_difference(record)


@pytest.mark.parametrize(
    ("harness", "named"),
    [
        ("mini-swe-agent", "mini-swe-agent"),
        ("codex:0.171.0", "codex:0.171.0"),
        ("python:my_agent:play", "python:my_agent:play"),
        ("command:/home/ada/agents/solve --key s3cret {task_file}", "command:solve"),
        (None, "gem-eval"),
    ],
)
def test_a_result_names_the_program_that_played(
    runs: dict[str, RunFolder], monkeypatch: pytest.MonkeyPatch, harness: str | None, named: str
) -> None:
    """A model behind an agent program is not the bare model; a command is named without folder and arguments."""
    run = runs["random"]
    agent = "small" if harness is None else f"{harness.partition(' ')[0]} with small"
    monkeypatch.setattr(run, "config", replace(run.config, harness=harness, agent=agent, model="small"))
    (result,) = results_of_run(run)
    assert (result.record.agent, result.record.model, result.record.harness) == ("model", "small", named)
    assert read_payload(payload_of(published(result))).harness == named


def test_scripted_agents_are_played_anew(results: dict[str, RunResult]) -> None:
    """Without any recorded line, the same agent has the same episodes."""
    for result in results.values():
        checked = check_result(published(result))
        assert (checked.verdict, checked.replayed) == ("same", EPISODES), checked


def test_recorded_actions_are_played_again(results: dict[str, RunResult]) -> None:
    """What a model did once, the environment answers in the same way."""
    checked = check_result(as_of_model(results["random"]), results["random"].raw)
    assert (checked.verdict, checked.replayed) == ("same", EPISODES), checked


def with_episode(record: ResultRecord, number: int, **changes: Any) -> ResultRecord:
    """Return a result with an episode that says something else, and figures that fit."""
    episodes = list(record.episodes)
    episodes[number] = replace(episodes[number], **changes)
    changed = replace(record, episodes=tuple(episodes))
    return replace(changed, summary=summary_of(rows_of(changed)))


def relined(result: RunResult, number: int, edit: Callable[[dict[str, Any]], object]) -> tuple[ResultRecord, bytes]:
    """Return a result whose recorded line was forged together with everything that is said of it."""
    lines = result.raw.splitlines(keepends=True)
    document = json.loads(lines[number])
    edit(document)
    lines[number] = json.dumps(document).encode() + b"\n"
    raw = b"".join(lines)
    record = as_of_model(result, raw_sha256=sha256(raw).hexdigest(), raw_size=len(raw))
    return with_episode(record, number, sha256=sha256(lines[number]).hexdigest()), raw


def set_up_otherwise(result: RunResult, agent: str, **changes: Any) -> tuple[ResultRecord, bytes]:
    """Return a result of another setting whose recorded lines were forged to say so too."""
    documents = [json.loads(line) for line in result.raw.splitlines()]
    for document in documents:
        document["spec"]["kwargs"].update(changes.get("kwargs", {}))
    lines = [json.dumps(document).encode() + b"\n" for document in documents]
    raw = b"".join(lines)
    changes |= {"raw_sha256": sha256(raw).hexdigest(), "raw_size": len(raw)}
    record = as_of_model(result, **changes) if agent == "random" else published(result, **changes)
    episodes = [replace(one, sha256=sha256(line).hexdigest()) for one, line in zip(record.episodes, lines, strict=True)]
    return replace(record, episodes=tuple(episodes)), raw


def claim_success(document: dict[str, Any]) -> None:
    """Let the last turn of an episode have won."""
    document["transitions"][-1]["reward"] = 1.0
    document["transitions"][-1]["info"]["success"] = True


def another_action(document: dict[str, Any]) -> None:
    """Let the episode have begun with another action."""
    document["transitions"][0]["action"] = "\\boxed{1} or \\boxed{99}"


def foreign_code(document: dict[str, Any]) -> None:
    """Let the line name code of its own for the environment."""
    document["spec"]["entry_point"] = "no_such_module_of_an_attacker:run"


@pytest.mark.parametrize("agent", ["model", "random"])
def test_a_result_of_failures_alone_is_not_found_to_be_the_same(results: dict[str, RunResult], agent: str) -> None:
    """Where every outcome is unknown, nothing was compared, and a verdict would say what nobody has seen."""
    result = results["random"]
    record = as_of_model(result) if agent == "model" else published(result)
    failed = [replace(one, outcome="unknown", failure="environment:exception") for one in record.episodes]
    unknown = replace(record, episodes=tuple(failed))
    unknown = replace(unknown, summary=summary_of(rows_of(unknown)))
    checked = _replay(unknown, result.raw) if agent == "model" else check_result(unknown)
    assert (checked.verdict, checked.replayed, checked.left_out) == ("cannot be checked", 0, EPISODES)
    assert f"all its {EPISODES} episodes failed" in checked.difference


def test_a_forged_score_of_a_script_is_named(results: dict[str, RunResult]) -> None:
    """The first difference is told with the seed, what the result says and what it is."""
    forged = with_episode(published(results["null"]), 3, outcome="succeeded", episode_return=1.0)
    checked = check_result(forged)
    assert checked.verdict == "differs"
    assert checked.difference.startswith("seed 3: the result says outcome 'succeeded'")
    assert checked.replayed == 3


def test_a_score_that_is_not_the_line_s_is_named(results: dict[str, RunResult]) -> None:
    """Recorded lines show a forged score without playing anything."""
    forged = with_episode(as_of_model(results["null"]), 2, episode_return=1.0)
    assert "recorded episode 3 (seed 2): the result says return 1.0" in raw_difference(forged, results["null"].raw)


def test_lines_that_were_forged_with_the_score_are_found_by_replay(results: dict[str, RunResult]) -> None:
    """Whoever forges the recorded episode as well is refused by the environment itself."""
    record, raw = relined(results["null"], 0, claim_success)
    record = with_episode(record, 0, outcome="succeeded", episode_return=1.0)
    assert not raw_difference(record, raw)
    checked = check_result(record, raw)
    assert checked.verdict == "differs"
    assert checked.difference.startswith("seed 0: turn")
    assert "reward was 1.0 and is now" in checked.difference
    record, raw = relined(results["reference"], 1, another_action)
    assert check_result(record, raw).verdict == "differs"


def test_no_code_is_taken_from_recorded_lines(results: dict[str, RunResult]) -> None:
    """The environment comes from the id of the result; an entry point in a line is never imported."""
    record, raw = relined(results["random"], 0, foreign_code)
    assert check_result(record, raw).verdict == "same"


def other_code(document: dict[str, Any]) -> None:
    """Let the line be of another version of the package."""
    document["spec"]["recorded_digest"] = "c" * 64


def other_arguments(document: dict[str, Any]) -> None:
    """Let the line be of an easier game."""
    document["spec"]["kwargs"]["max_number"] = 3


@pytest.mark.parametrize("edit", [other_code, other_arguments])
def test_lines_of_another_setting_are_not_those_of_the_result(
    edit: Callable[[dict[str, Any]], None], results: dict[str, RunResult]
) -> None:
    """What was played with other code or arguments than the result names is no evidence for it."""
    record, raw = relined(results["random"], 2, edit)
    record = replace(record, kwargs={"max_number": find_spec(GAME).kwargs["max_number"]})
    assert "recorded episode 3 was played with other" in raw_difference(record, raw)


UNTRUSTED: dict[str, dict[str, Any]] = {
    "code for a wrapper": {"wrappers": [{"name": "attempts", "feedback": "planted_module:run"}]},
    "code in a table of a wrapper": {"wrappers": [{"name": "attempts", "feedback": {"name": "planted_module:run"}}]},
    "code as a reward": {"kwargs": {"judge": {"name": "planted_module:run", "command": ["true"]}}},
    "a command": {"kwargs": {"server": ["sh", "-c", "true"]}},
    "a command of one word": {"kwargs": {"server": "true"}},
    "a file": {"kwargs": {"data": "/etc/passwd"}},
    "a text among numbers": {"kwargs": {"sizes": [1, [2, "planted_module:run"]]}},
    "a key instead of a value": {"kwargs": {"sizes": {"planted_module:run": 1}}},
}


@pytest.mark.parametrize("what", UNTRUSTED)
def test_an_argument_that_may_name_code_is_not_played(
    what: str, results: dict[str, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever publishes a result chooses no code, command or file of the machine that checks it."""
    (tmp_path / "planted_module.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for agent in ("random", "reference"):
        record, raw = set_up_otherwise(results[agent], agent, **UNTRUSTED[what])
        assert read_payload(payload_of(record)) == record  # a hub takes it
        checked = check_result(record, raw)
        assert checked.verdict == "cannot be checked"
        assert "--trust-arguments" in checked.difference
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("size", [10**9, -(10**9), 1e300, float("inf"), float("nan"), 101, [1] * 101, [[10**9]]])
def test_an_argument_that_no_machine_can_bear_is_not_played(results: dict[str, RunResult], size: Any) -> None:
    """A number beyond what any variant has may use up the memory of the machine that checks."""
    same = dict(find_spec(GAME).kwargs)
    checked = check_result(as_of_model(results["random"], kwargs={**same, "scale": size}))
    assert checked.verdict == "cannot be checked"
    assert "scale = " in checked.difference
    assert "--trust-arguments" in checked.difference
    wrapped = as_of_model(results["random"], wrappers=[{"name": "time_limit", "max_episode_steps": 10**12}])
    assert check_result(wrapped, results["random"].raw).verdict == "cannot be checked"


def test_arguments_of_numbers_and_of_the_manifest_are_played(results: dict[str, RunResult]) -> None:
    """Numbers choose no code, and what the manifest itself gives an environment is its author's."""
    same = find_spec(GAME).kwargs
    assert same
    checked = check_result(as_of_model(results["random"], kwargs=same), results["random"].raw)
    assert (checked.verdict, checked.replayed) == ("same", EPISODES), checked
    of_a_variant = find_spec("game:GuessTheNumber-v0-random").kwargs
    assert any(isinstance(value, str) for value in of_a_variant.values())
    checked = check_result(*set_up_otherwise(results["random"], "random", kwargs=of_a_variant))
    assert (checked.verdict, checked.difference[:5]) == ("differs", "seed "), checked
    wrapped = as_of_model(results["random"], wrappers=[{"name": "time_limit", "max_episode_steps": 1}])
    assert check_result(wrapped, results["random"].raw).verdict == "differs"


def test_a_trusted_argument_is_played(
    results: dict[str, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one who checks may say so, and then the code that an argument names is loaded."""
    (tmp_path / "trusted_module.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    record = as_of_model(results["random"], wrappers=[{"name": "attempts", "feedback": "trusted_module:run"}])
    check_result(record, results["random"].raw, trust_arguments=True)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda raw: raw[:-1], "have not the sha256"),
        (lambda raw: raw + b"{}\n", "have not the sha256"),
        (lambda raw: b"", "have not the sha256"),
    ],
)
def test_other_lines_than_the_result_names_are_refused(
    edit: Callable[[bytes], bytes], reason: str, results: dict[str, RunResult]
) -> None:
    """Not a byte of the recorded episodes may differ."""
    checked = check_result(as_of_model(results["random"]), edit(results["random"].raw))
    assert checked.verdict == "differs"
    assert reason in checked.difference


def test_other_code_than_the_result_s_is_no_proof(results: dict[str, RunResult]) -> None:
    """With another version installed nothing is compared, and the line that installs the right one is given."""
    checked = check_result(published(results["random"], code="c" * 64))
    assert checked.verdict == "cannot be checked"
    assert "gem hub install gem-envs-games==0.1.0" in checked.difference
    checked = check_result(published(results["random"], environment="game:NoSuchGame-v0"))
    assert checked.verdict == "cannot be checked"


def test_a_model_without_recorded_lines_cannot_be_checked(results: dict[str, RunResult]) -> None:
    """It is said, and how to remedy it."""
    checked = check_result(as_of_model(results["random"]))
    assert checked.verdict == "cannot be checked"
    assert "--episodes FILE" in checked.difference


def test_an_unfinished_run_is_no_result(tmp_path: Path) -> None:
    """A result has all planned episodes, so that nobody publishes the good ones alone."""
    run = evaluate_sync({"environment": [GAME], "episodes": 2, "agent": "random"}, out=tmp_path / "run")
    lines = (run.path / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "episodes.jsonl").write_bytes(lines[0])
    (run.path / "index.jsonl").unlink()
    with pytest.raises(ResultError, match="1 of 2 episodes were played"):
        results_of_run(RunFolder.open(run.path))


def listed(result: RunResult, status: str = "admitted", **changes: Any) -> ListedResult:
    """Return a result as a hub lists it."""
    record = published(result, **changes)
    return ListedResult(sha256(payload_of(record)).hexdigest()[:16], record, status)  # type: ignore[arg-type]


def test_a_table_compares_as_gem_compare_does(runs: dict[str, RunFolder], results: dict[str, RunResult]) -> None:
    """Differences and intervals are those of the one place that has statistics."""
    (board,) = leaderboards(listed(result) for result in results.values())
    assert [entry.record.agent for entry in board.entries] == ["reference", "random", "null"]
    for entry in board.entries[1:]:
        other = compare_runs(runs["reference"].rows(), runs[entry.record.agent].rows()).environments[0].result
        assert entry.difference == other
        assert entry.difference is not None
        assert entry.difference.paired


@pytest.mark.parametrize(
    "changes",
    [
        {"wheel": "d" * 64}, {"environment": "game:GuessTheNumber-v0-hard"}, {"kwargs": {"max_turns": 9}},
        {"wrappers": [{"name": "time_limit", "max_episode_steps": 3}]}, {"limits": {"max_turns": 2}},
    ],
)  # fmt: skip
def test_what_cannot_be_compared_stands_in_another_table(
    changes: dict[str, Any], results: dict[str, RunResult]
) -> None:
    """Another wheel, environment, argument, wrapper or limit is another table."""
    boards = leaderboards([listed(results["reference"]), listed(results["random"], **changes)])
    assert [len(board.entries) for board in boards] == [1, 1]


def test_what_an_agent_is_shown_is_its_own_affair(results: dict[str, RunResult]) -> None:
    """A history that a model gets and a script does not is no other environment."""
    boards = leaderboards([listed(results["reference"]), listed(results["random"], wrappers=["messages"])])
    assert [len(board.entries) for board in boards] == [2]


def test_unreviewed_results_are_compared_with_reviewed_ones(results: dict[str, RunResult]) -> None:
    """The best reviewed result is what all others are measured by; withdrawn ones are nowhere."""
    (board,) = leaderboards(
        [listed(results["reference"], "unreviewed"), listed(results["null"]), listed(results["random"], "withdrawn")]
    )
    assert [entry.listed.status for entry in board.entries] == ["admitted", "unreviewed"]
    assert board.entries[0].difference is None
    assert board.entries[1].difference is not None
    assert board.entries[1].difference.difference == 1.0
