"""The conformance record, the scores and the speed in it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.multiagent import MultiAgentEnv
from gem.policies import Policy
from gem_rollout import rollout, summarize
from gem_rollout.speed import CALIBRATION, Speed, calibration_round, measure
from gem_testing import CLAUSES, ClauseOutcome, ClauseResult
from gem_testing.record import ConformanceRecord, EnvironmentResults, ScoreRecord, SpeedRecord, record_of
from gem_testing.scores import EPISODES, AgentScore, scores_of
from gem_testing.targets import PackageUnderTest


class Coin(Env[str, str]):
    """Guess a coin, three times: a reward for each hit."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.left = 3
        return "Heads or tails?", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.left -= 1
        reward = float(action == self.rng.choice(["heads", "tails"]))
        return "Again", reward, self.left == 0, False, {"success": reward > 0} if self.left == 0 else {}

    def sample_random_action(self) -> str:
        return self.action_rng.choice(["heads", "tails"])


class Heads(Policy[str, str]):
    def act(self, observation: str, info: Info) -> str:
        return "heads"


class Endless(Coin):
    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "Again", 0.0, False, False, {}


class Infinite(Coin):
    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "Over", float("inf"), True, False, {}


class Breaking(Coin):
    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        if action == "":
            raise RuntimeError("say something")
        return super().step(action)


class Choir(MultiAgentEnv):
    """Two agents sing one turn; those who sing get 1."""

    def __init__(self) -> None:
        super().__init__(["ann", "bob"])

    def observe(self, agent: str) -> str:
        return "Sing!"

    def _process_actions(self, actions: dict[str, Any]) -> Any:
        rewards = {agent: float(action == "la") for agent, action in actions.items()}
        return {}, rewards, dict.fromkeys(actions, True), {}, {}

    def sample_random_action(self) -> dict[str, str]:
        return dict.fromkeys(self.active_agents, "la")


def spec_of(entry_point: Any, **metadata: Any) -> EnvSpec:
    return EnvSpec(id=f"test:{entry_point.__name__}-v0", entry_point=entry_point, **metadata)


def test_scores_are_those_of_the_first_seeds() -> None:
    """Each agent plays the same number of episodes from seed 0 on; the mean and its error are a rollout's."""
    spec = spec_of(Coin, reference_policy=f"{__name__}:Heads")
    scores = scores_of(spec, seconds=600.0)
    assert list(scores) == ["random", "reference", "null"]
    assert scores["null"] == AgentScore(EPISODES, 0.0, 0.0, 0.0, 3.0)
    assert all(score.episodes == EPISODES and not score.error for score in scores.values())
    summary = summarize(rollout(spec, lambda _: Heads(), episodes=EPISODES, num_envs=1))[0]
    reference = scores["reference"]
    assert reference.mean == summary.mean_return
    assert reference.standard_error == summary.standard_error > 0
    assert reference.success_rate == summary.success_rate
    assert scores_of(spec, seconds=600.0) == scores


def test_without_a_reference_policy_there_is_no_reference_score() -> None:
    """What the manifest does not name is left out."""
    assert list(scores_of(spec_of(Coin))) == ["random", "null"]


def test_a_slow_environment_plays_fewer_episodes() -> None:
    """No episode begins after the time is over, but for the first."""
    scores = scores_of(spec_of(Coin), seconds=0.0)
    assert {score.episodes for score in scores.values()} == {1}


@pytest.mark.parametrize(
    ("environment", "agent", "episodes", "error"),
    [
        (Endless, "random", 0, "the episode with seed 0 was stopped after 10000 steps"),
        (Infinite, "random", EPISODES, "the return of an episode is inf"),
        (Breaking, "null", 0, "RuntimeError: say something"),
    ],
)
def test_what_keeps_an_agent_from_being_scored_is_said(
    environment: type[Env[Any, Any]], agent: str, episodes: int, error: str
) -> None:
    """There is no mean then, and the other agents have theirs."""
    score = scores_of(spec_of(environment), seconds=600.0)[agent]
    assert (score.mean, score.episodes) == (None, episodes)
    assert error in score.error


def test_several_agents_are_scored_together() -> None:
    """The return is the sum of all agents' rewards."""
    scores = scores_of(spec_of(Choir))
    assert (scores["random"].mean, scores["null"].mean) == (2.0, 0.0)


def test_speed_of_several_agents_can_be_measured() -> None:
    """Actions are sampled for whoever is to act."""
    assert measure(spec_of(Choir), 0.01, 0).steps_per_cpu_second > 0


def test_an_environment_that_waits_does_not_hold_up_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU seconds that never come are not waited for: the wall clock ends it too."""
    monkeypatch.setattr("gem_rollout.speed._PATIENCE", 0.0)
    assert measure(spec_of(Coin), 3600.0, 0).resets_per_cpu_second > 0


def test_two_measurements_agree_relative_to_the_calibration_loop() -> None:
    """The median of five ratios of relative rates is within a factor of two, whatever else the machine does."""
    pairs = [(measure(spec_of(Coin), 0.02, 0), measure(spec_of(Coin), 0.02, 0)) for _ in range(5)]
    for name in ("relative_steps", "relative_resets"):
        ratios = sorted(getattr(one, name) / getattr(other, name) for one, other in pairs)
        assert 0.5 < ratios[2] < 2.0
    for one, _ in pairs:
        assert one.relative_steps == one.steps_per_cpu_second / one.calibration_rounds_per_cpu_second


def test_a_slower_environment_is_relatively_slower() -> None:
    """An environment that does the calibration's work ten times a step makes about a tenth of its rounds."""

    class Busy(Coin):
        def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
            for turn in range(10):
                calibration_round(turn)
            return super().step(action)

    assert 0.03 < measure(spec_of(Busy), 0.05, 0).relative_steps < 0.2


def test_the_calibration_loop_is_what_its_version_says() -> None:
    """Records of one version can be compared only while the loop does the same."""
    assert CALIBRATION == 1
    assert calibration_round(8) == (
        "Turn 8: row 2, column 1 is now 'x'.\n"
        ". . . . . .\n. . . . . .\n. x . . . .\n. . . . . .\n. . . . . .\n. . . . . ."
    )


def test_the_models_have_the_fields_of_what_they_record() -> None:
    """A field that is added to scores or speed is added to the record, or left out on purpose."""
    assert list(ScoreRecord.model_fields) == [field.name for field in fields(AgentScore)]
    assert list(SpeedRecord.model_fields) == [field.name for field in fields(Speed) if field.name != "id"]


SPEC = EnvSpec(
    id="game:A-v0", entry_point="json:loads", kwargs={"size": 1}, exempt={"contract.spawn": "no room"}, tags=("a",)
)
PACKAGE = PackageUnderTest("json", (SPEC,), Path("environments.toml"), frozenset({"game", "b"}), (), "My-Json", "1.0")


@pytest.fixture
def record() -> ConformanceRecord:
    score = {"episodes": 1, "mean": None, "standard_error": 0.0, "success_rate": None, "mean_turns": 2.0, "error": "e"}
    speed = dict.fromkeys(SpeedRecord.model_fields, 1.0) | {"id": "game:A-v0", "calibration": 1}
    found = EnvironmentResults(PACKAGE, SPEC)
    found.figures = {"scores": {"random": score}, "speed": speed}
    for name in reversed(CLAUSES):
        found.results[name] = ClauseResult(name, ClauseOutcome.HOLDS)
    found.results["info.json"] = ClauseResult("info.json", ClauseOutcome.VIOLATED, "ümlaut")
    found.results["contract.spawn"] = ClauseResult("contract.spawn", ClauseOutcome.NOT_TESTED, "no room", exempt=True)
    return record_of([PACKAGE], [found])


def test_a_record_survives_its_file(record: ConformanceRecord, tmp_path: Path) -> None:
    """What is read is what was written, with nothing else left in the folder, and twice the same bytes."""
    path = tmp_path / "new" / "report.json"
    record.write(path)
    first = path.read_bytes()
    assert ConformanceRecord.read(path) == record
    ConformanceRecord.read(path).write(path)
    assert path.read_bytes() == first
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]


def test_a_record_says_what_was_checked(record: ConformanceRecord) -> None:
    """Versions, digests, the whole spec, and clauses in reading order."""
    (package,) = record.packages
    assert (record.gem_core, package.distribution, package.version) == (gem.__version__, "My-Json", "1.0")
    assert (package.namespaces, package.complete) == (["b", "game"], True)
    (environment,) = package.environments
    assert EnvSpec.from_dict(environment.spec) == SPEC
    assert package.source_digest == environment.spec["recorded_digest"]
    assert [clause.clause for clause in environment.clauses] == list(CLAUSES)
    assert [clause.clause for clause in environment.clauses if clause.exempt] == ["contract.spawn"]


def test_the_order_of_keys_is_fixed(record: ConformanceRecord) -> None:
    """Two records can be compared line by line."""
    document = record.to_dict()
    assert list(document) == [
        "schema",
        "kit",
        "gem_core",
        "python",
        "implementation",
        "platform",
        "packages",
    ]
    assert list(document["packages"][0]["environments"][0]) == [
        "id",
        "spec",
        "clauses",
        "scores",
        "speed",
        "errors",
        "attacks",
    ]


def test_a_part_of_a_package_is_no_complete_record() -> None:
    """Where environments or clauses are missing, the record says so."""
    results = {name: ClauseResult(name, ClauseOutcome.HOLDS) for name in CLAUSES}
    whole = EnvironmentResults(PACKAGE, SPEC, results)
    part = EnvironmentResults(PACKAGE, SPEC, {"info.json": results["info.json"]})
    assert record_of([PACKAGE], [whole]).packages[0].complete
    assert not record_of([PACKAGE], [part]).packages[0].complete
    for package in (replace(PACKAGE, whole=False), replace(PACKAGE, specs=(), problem="broken")):
        assert not record_of([package], [replace(whole, package=package)]).packages[0].complete


def spoil(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), 2, "uses schema 2, and this gem-core reads schema 1"),
        (("schema",), "1", "schema: Input should be 1"),
        (("schema",), True, "schema: Input should be 1"),
        (("date",), "today", "date: Extra inputs are not permitted"),
        (("packages", 0, "environments", 0, "spec", "nonsense"), 1, "unknown keys ['nonsense']"),
        (("packages", 0, "environments", 0, "clauses", 0, "outcome"), "fine", "outcome: Input should be 'holds'"),
        (
            ("packages", 0, "environments", 0, "scores", "random", "mean"),
            float("nan"),
            "mean: Input should be a finite",
        ),
        (("packages", 0, "environments", 0, "scores", "expert"), {}, "expert"),
        (("packages", 0, "complete"), 1, "packages.0.complete: Input should be a valid boolean"),
    ],
)
def test_what_is_no_record_is_refused(
    record: ConformanceRecord, tmp_path: Path, path: tuple[Any, ...], value: Any, message: str
) -> None:
    """Unknown keys, other types and later schemas are named with the file."""
    document = record.to_dict()
    spoil(document, path, value)
    file = tmp_path / "report.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ArgumentError) as raised:
        ConformanceRecord.read(file)
    assert message in str(raised.value)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_any_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Bytes that are no JSON, or JSON that is no record, come to the same kind of error."""
    file = tmp_path / "report.json"
    file.write_bytes(content)
    with pytest.raises(ArgumentError, match=r"report\.json: not a conformance record"):
        ConformanceRecord.read(file)
    with pytest.raises(ArgumentError, match="cannot be read: No such file"):
        ConformanceRecord.read(tmp_path / "missing.json")


def test_a_write_that_fails_leaves_the_old_record(
    record: ConformanceRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at the last moment costs neither the old file nor leaves half of a new one."""
    file = tmp_path / "report.json"
    file.write_text("old")

    def full(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        record.write(file)
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert file.read_text() == "old"
