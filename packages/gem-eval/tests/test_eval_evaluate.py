"""Evaluations from Python: what is played, what is recorded, what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import EntryPointError, UnknownEnvironmentError
from gem_eval.clients import ModelError, ScriptedClient
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.runs import (
    ConfigChangedError,
    EvaluationConfig,
    EvaluationConfigError,
    EvaluationEnvironment,
    EvaluationProgress,
    Prices,
    RunFolder,
    RunInUseError,
    canonical_lines,
    evaluate,
    evaluate_sync,
)
from gem_questions.rewards import Reward, Score

GUESS = "game:GuessTheNumber-v0-easy"


def config_of(*env_ids: str, **values: Any) -> EvaluationConfig:
    """Return a configuration; the reference policy plays unless a model or another agent is named."""
    if not {"agent", "base_url", "model"} & values.keys():
        values["agent"] = "reference"
    return EvaluationConfig(tuple(EvaluationEnvironment(env_id) for env_id in env_ids or (GUESS,)), **values)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_every_episode_is_played_once(tmp_path: Path) -> None:
    """Seeds and repetitions of each environment are those of the configuration."""
    run = evaluate_sync(config_of(GUESS, "game:Hangman-v0-easy", episodes=6, group=2, seed=5), out=tmp_path / "run")
    assert sorted(row.key for row in run.rows()) == sorted(
        (env, seed, repetition)
        for env in (GUESS, "game:Hangman-v0-easy")
        for seed in (5, 6, 7)
        for repetition in (0, 1)
    )
    assert all(row.success for row in run.rows() if row.env == GUESS)
    assert not run.running


def test_a_mapping_is_a_configuration(tmp_path: Path) -> None:
    """The content of a configuration file can be passed as it is; ids alone stand for environments."""
    run = evaluate_sync({"environment": [GUESS], "agent": "random", "episodes": 3}, out=tmp_path / "run")
    assert len(run.rows()) == 3
    assert run.config.agent == "random"


def test_a_model_needs_only_its_address(tmp_path: Path) -> None:
    """The model's name comes from the server; history, usage and the wrapper are recorded."""
    with FakeModelThread(FakeModel(GUESS, model="tiny")) as server:
        config = config_of(base_url=server.origin, episodes=5, prices=Prices(1.0, 2.0))
        run = evaluate_sync(config, out=tmp_path / "run")
    assert (run.config.model, run.config.served_model, run.config.agent) == ("tiny", "tiny", "tiny")
    assert [item.wrappers for item in run.config.environments] == [("messages",)]
    row = run.rows()[0]
    episode = run.episode(row)
    assert row.prompt_tokens
    assert row.cost == pytest.approx(((row.prompt_tokens or 0) + 2 * (row.completion_tokens or 0)) / 1e6)
    assert [len(turn.observation) for turn in episode.transitions] == list(range(1, 2 * len(episode), 2))
    assert all(row.success for row in run.rows())


def test_a_single_turn_environment_gets_no_history(tmp_path: Path) -> None:
    """Where an episode is one turn, there is nothing to remember."""
    client = ScriptedClient(lambda messages: "\\boxed{1}")
    config = EvaluationConfig((EvaluationEnvironment("math:Arithmetic-v0"),), episodes=2)
    run = evaluate_sync(config, out=tmp_path / "run", client=client)
    assert run.config.environments[0].wrappers == ()
    assert isinstance(run.episode(run.rows()[0]).transitions[0].observation, str)


def test_a_suite_has_settings_for_each_environment(tmp_path: Path) -> None:
    """Episodes, groups, seeds, wrappers and arguments hold for their own environment; one id may occur twice."""
    config = EvaluationConfig(
        (
            EvaluationEnvironment(GUESS, label="few turns", episodes=2, seed=9, kwargs={"max_turns": 1}),
            EvaluationEnvironment(GUESS, group=3, wrappers=("concat_with_action",)),
        ),
        agent="null",
        episodes=3,
    )
    run = evaluate_sync(config, out=tmp_path / "run")
    assert sorted(row.key for row in run.rows()) == [
        ("few turns", 9, 0),
        ("few turns", 10, 0),
        *((GUESS, 0, repetition) for repetition in range(3)),
    ]
    by_env = {row.env: run.episode(row) for row in run.rows()}
    assert len(by_env["few turns"]) == 1
    spec = by_env[GUESS].spec
    assert spec is not None
    assert [item.entry_point.rpartition(":")[2] for item in spec.wrappers] == ["ConcatWithAction"]


def test_wrappers_take_arguments_and_tools_are_counted(tmp_path: Path) -> None:
    """A table names a wrapper with its arguments; each call of a tool counts in the row of its episode."""
    call = {"id": "a", "type": "function", "function": {"name": "python", "arguments": '{"code": "print(6 * 7)"}'}}
    answers = [{"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "b"}]}, "\\boxed{1}"]
    config = EvaluationConfig(
        (EvaluationEnvironment("math:Arithmetic-v0"),),
        episodes=1,
        wrappers=({"name": "python_tool", "max_tool_uses": 1}, "messages"),
    )
    run = evaluate_sync(config, out=tmp_path / "run", client=ScriptedClient(answers))
    (row,) = run.rows()
    assert (row.tool_calls, row.turns) == (2, 2)
    spec = run.episode(row).spec
    assert spec is not None
    assert spec.wrappers[0].kwargs["max_tool_uses"] == 1
    evaluate_sync(config, out=tmp_path / "run", resume=True, client=ScriptedClient([]))
    with pytest.raises(EvaluationConfigError, match="a table with a 'name'"):
        evaluate_sync(config.with_settings(wrappers=({"max_tool_uses": 1},)), client=ScriptedClient([]))


class Talk(gem.MultiAgentEnv):
    """Two agents speak in turn, twice each."""

    def __init__(self) -> None:
        super().__init__(["ann", "user"], mode="sequential")

    def _begin(self) -> None:
        self.said = 0

    def observe(self, agent: str) -> str:
        return f"Speak, {agent}."

    def _process_actions(self, actions: dict[str, Any]) -> Any:
        self.said += 1
        over = dict.fromkeys(self.possible_agents, self.said == 4)
        return {}, {}, over, {}, {}


def test_several_models_play_one_episode(tmp_path: Path) -> None:
    """In an environment with several agents, each player has its own model, system message or policy."""
    gem.register("test:Talk-v0", Talk)
    try:
        with FakeModelThread(FakeModel("constant:I am ann.")) as ann, FakeModelThread(FakeModel("echo")) as user:
            config = EvaluationConfig(
                (EvaluationEnvironment("test:Talk-v0", wrappers=()),),
                base_url=ann.url,
                players={"user": {"base_url": user.url.replace("//", "//me:s3cret@"), "system": "Be a user."}},
                episodes=2,
            )
            run = evaluate_sync(config, out=tmp_path / "run")
            silent = config.with_settings(players={"user": {"agent": "null"}})
            second = evaluate_sync(silent, out=tmp_path / "silent")
            with pytest.raises(EvaluationConfigError, match=r"players\.user has no argument 'url'"):
                evaluate_sync(config.with_settings(players={"user": {"url": user.url}}))
    finally:
        gem.unregister("test:Talk-v0")
    turns = run.episode(run.rows()[0]).transitions
    assert [(turn.agent, turn.action) for turn in turns] == [("ann", "I am ann."), ("user", "Speak, user.")] * 2
    assert [turn.action for turn in second.episode(second.rows()[0]).transitions] == ["I am ann.", ""] * 2
    assert "s3cret" not in (run.path / "run.json").read_text()
    assert run.config.players["user"]["system"] == "Be a user."


def test_failed_episodes_are_recorded_and_counted(tmp_path: Path) -> None:
    """A server that fails now and then costs those episodes alone, classified; a resumed run plays them anew."""
    answers = [ModelError("server_error", "500"), *["\\boxed{5}"] * 200]
    seen: list[EvaluationProgress] = []
    config = EvaluationConfig((EvaluationEnvironment(GUESS),), episodes=4, retries=0, concurrency=1)
    run = evaluate_sync(config, out=tmp_path / "run", client=ScriptedClient(answers), observer=seen.append)
    failed = [row for row in run.rows() if row.failed]
    assert [row.failure for row in failed] == [{"source": "endpoint", "kind": "server_error"}]
    assert (seen[-1].finished, seen[-1].failed, dict(seen[-1].failures)) == (3, 1, {"endpoint/server_error": 1})
    again = evaluate_sync(config, out=tmp_path / "run", resume=True, client=ScriptedClient(["\\boxed{5}"] * 9))
    assert not [row for row in again.rows() if row.failed]
    assert (len(again.rows()), len(again.rows(attempts=True))) == (4, 5)


def test_a_run_in_which_everything_fails_ends_early(tmp_path: Path) -> None:
    """After so many failed episodes and none that finished, no further one is tried."""
    client = ScriptedClient(lambda messages: ModelError("bad_request", "no"))
    config = EvaluationConfig((EvaluationEnvironment(GUESS),), episodes=500, give_up_after=7, concurrency=2)
    run = evaluate_sync(config, out=tmp_path / "run", client=client)
    assert 7 <= len(run.rows()) < 20


class LengthReward(Reward):
    """The number of turns, in tenths."""

    async def score(self, trajectory: gem.Trajectory) -> Score:
        await asyncio.sleep(0)
        return Score(len(trajectory) / 10, parts={"turns": float(len(trajectory))})


class RaisingReward(Reward):
    """Raises for every episode."""

    def score(self, trajectory: gem.Trajectory) -> Score:
        raise RuntimeError("no")


class UnrecordableReward(Reward):
    """Explains its scores with what no record can hold."""

    def score(self, trajectory: gem.Trajectory) -> Score:
        return Score(1.0, metadata={"why": object()})


def test_rewards_are_applied_beside_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finished episode carries the score of each reward; one that raises costs only its own score."""
    monkeypatch.setattr("gem_eval.runs.recorder._GRACE", 0.0)  # which only interrupted scores have
    rewards = (
        {"name": f"{__name__}:LengthReward", "label": "length"},
        {"name": f"{__name__}:RaisingReward"},
        {"name": f"{__name__}:UnrecordableReward", "label": "odd"},
    )
    run = evaluate_sync(config_of(episodes=5, rewards=rewards), out=tmp_path / "run")
    for row in run.rows():
        assert row.scores == {"length": row.turns / 10, f"{__name__}:RaisingReward": None, "odd": None}
        assert row.success
        assert run.episode(row).scores["length"]["parts"] == {"turns": float(row.turns)}
    assert [item["label"] for item in run.config.rewards[:1]] == ["length"]


def test_cancelling_keeps_what_is_finished(tmp_path: Path) -> None:
    """A cancelled evaluation leaves whole episodes, an unlocked folder, and can be resumed to the full set."""
    config = config_of(episodes=40, concurrency=2)

    async def cancelled() -> None:
        task = asyncio.ensure_future(evaluate(config, out=tmp_path / "run"))
        while not task.done():
            await asyncio.sleep(0)
            path = tmp_path / "run" / "index.jsonl"
            if path.exists() and path.read_bytes().count(b"\n") >= 5:
                task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    partial = RunFolder(tmp_path / "run")
    assert 5 <= len(partial.rows()) < 40
    assert not partial.running
    whole = evaluate_sync(config, out=tmp_path / "run", resume=True)
    undisturbed = evaluate_sync(config, out=tmp_path / "undisturbed")
    assert len(whole.rows(attempts=True)) == 40
    assert list(canonical_lines(whole)) == list(canonical_lines(undisturbed))


def test_a_changed_configuration_is_refused_with_the_differences(tmp_path: Path) -> None:
    """Every setting that can change an episode is compared; with allow_changes the run goes on and says so."""
    evaluate_sync(config_of(episodes=2), out=tmp_path / "run")
    changed = config_of(episodes=4, group=2, seed=1, limits={"max_turns": 3}, rewards=("exact",), concurrency=3)
    with pytest.raises(ConfigChangedError) as refused:
        evaluate_sync(changed, out=tmp_path / "run", resume=True)
    assert refused.value.differences == [
        f"{GUESS}: episodes was 2 and is 4",
        f"{GUESS}: group was 1 and is 2",
        f"{GUESS}: seed was 0 and is 1",
        "limits max_turns was not set and is 3",
        "rewards was not set and is ({'name': 'exact'},)",
    ]
    run = evaluate_sync(changed, out=tmp_path / "run", resume=True, allow_changes=True)
    assert [item.get("changes") for item in run.config.resumed] == [refused.value.differences]
    assert run.config.environments[0].episodes == 4
    evaluate_sync(changed, out=tmp_path / "run", resume=True)


def test_changed_code_versions_and_models_are_refused(tmp_path: Path) -> None:
    """The digest of an environment's source, the version of a package and the served model are compared as well."""
    with FakeModelThread(FakeModel(GUESS, model="tiny")) as server:
        config = config_of(base_url=server.origin, episodes=1)
        folder = evaluate_sync(config, out=tmp_path / "run").path
        file = folder / "run.json"
        record = json.loads(file.read_text())
        record["environments"][0]["digest"] = "0" * 64
        record["packages"]["gem-envs-games"] = "0.0.9"
        record["served_model"] = record["model"] = record["agent"] = "huge"
        file.write_text(json.dumps(record))
        with pytest.raises(ConfigChangedError) as refused:
            evaluate_sync(config, out=folder, resume=True)
    text = str(refused.value)
    for part in ("the code of the environment has changed", "gem-envs-games was '0.0.9'", "served_model was 'huge'"):
        assert part in text


def test_a_folder_is_used_by_one_evaluation(tmp_path: Path) -> None:
    """A second evaluation into the folder of a running one is refused, and the first one is not disturbed."""

    async def both() -> RunFolder:
        first = asyncio.ensure_future(evaluate(config_of(episodes=30, concurrency=1), out=tmp_path / "run"))
        while not (tmp_path / "run" / "live.json").exists():
            await asyncio.sleep(0)
        with pytest.raises(RunInUseError):
            await evaluate(config_of(episodes=30), out=tmp_path / "run", resume=True)
        return await first

    assert len(asyncio.run(both()).rows(attempts=True)) == 30


def test_impossible_configurations_are_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    """Each mistake has a message that says what to do, and leaves nothing behind."""
    for config, error, message in [
        (EvaluationConfig(), EvaluationConfigError, "name what to evaluate on"),
        (EvaluationConfig((EvaluationEnvironment(GUESS),)), EvaluationConfigError, "name what plays"),
        (EvaluationConfig((EvaluationEnvironment(GUESS),), model="m"), EvaluationConfigError, "OPENAI_BASE_URL"),
        (config_of("game:Gess-v0"), UnknownEnvironmentError, "no environment"),
        (config_of(agent="nope"), EvaluationConfigError, "there is no agent 'nope'"),
        (config_of(agent="no_such_module:Agent"), EntryPointError, "no_such_module"),
        (config_of(limits={"max_turn": 3}), EvaluationConfigError, "max_turns"),
        (config_of(rewards=("exact", "exact")), EvaluationConfigError, "label"),
        (config_of(base_url="http://127.0.0.1:9", sampling={"temperature": -1}), EvaluationConfigError, "temperature"),
        (config_of(base_url="http://127.0.0.1:9", sampling={"temp": 1}), EvaluationConfigError, "temp"),
        (config_of(base_url="http://127.0.0.1:9"), ModelError, "connection"),
        (config_of(base_url="http://127.0.0.1:9", model="m"), ModelError, "connection"),
    ]:
        with pytest.raises(error, match=message):
            evaluate_sync(config)
    arguments = EvaluationConfig((EvaluationEnvironment(GUESS, kwargs={"max_turns": {1, 2}}),), agent="random")
    with pytest.raises(EvaluationConfigError, match="constructor argument"):
        evaluate_sync(arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_agent_may_lie_in_the_working_directory(tmp_path: Path) -> None:
    """``module:Class`` finds a module beside the user, and the run records the digest of its source."""
    (tmp_path / "guessing_agent_of_mine.py").write_text(
        "class Agent:\n    def act(self, observation, info):\n        return r'\\boxed{5}'\n"
    )
    run = evaluate_sync(config_of(agent="guessing_agent_of_mine:Agent", episodes=2))
    assert run.config.sources["guessing_agent_of_mine"]
    assert run.episode(run.rows()[0]).transitions[0].action == "\\boxed{5}"
    assert run.path.parent == Path("runs")


def test_hostile_names_become_no_paths(tmp_path: Path) -> None:
    """Without a folder of its own, a run is named after environment and model, of which only harmless letters stay."""
    client = ScriptedClient(lambda messages: "no", model="../../\x1b[31m/etc/passwd\ud800" + "x" * 300)
    config = EvaluationConfig((EvaluationEnvironment(GUESS, label="../\x00/évil"),), episodes=1)
    run = evaluate_sync(config, client=client)
    assert run.path.parent == Path("runs")
    assert run.path.name.isascii()
    assert len(run.path.name) < 160
    assert not set(run.path.name) & set("/\\\x1b\x00 ")
    assert len(evaluate_sync(config, client=client).rows()) == 1  # within the same second, another folder
