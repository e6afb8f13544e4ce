"""A program of a few lines plays episodes as a policy, well and badly; the engine records and classifies each."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner

import gem
from gem.errors import NotSupportedError
from gem_eval.cli.eval import eval_command
from gem_eval.clients import Completion, ModelError, ScriptedClient
from gem_eval.fake_model import FakeModel, FakeModelThread, ModelRequest
from gem_eval.runs import RunFolder
from gem_gateway.harnesses import Harness, harness_policy
from gem_gateway.harnesses.box_layer import BOX, BOX_PYTHON, BOX_SITE, box_layer
from gem_gateway.harnesses.harness import Dialect
from gem_gateway.harnesses.own_box import OwnBox, obstacle_to_own_box
from gem_gateway.harnesses.policies import HarnessPolicyMaker
from gem_gateway.harnesses.reference_model import ReferenceModel, with_reference_model
from gem_gateway.harnesses.table import harness_of
from gem_rollout import EpisodeLimits, RolloutEngine, plan_episodes
from gem_rollout.lineages.certificate import certify
from gem_rollout.lineages.tree import lineages_of
from gem_rollout.trajectory import Trajectory

GAME = "game:GuessTheNumber-v0-easy"
PROGRAM = Path(__file__).with_name("tiny_agent.py")

Play = Callable[..., Trajectory]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only one for temporary files, and empty again afterwards."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def play(folder: Path) -> Play:
    """Return a function that has the program play an episode: behaviour, file, client, options → its record."""

    def played(
        behaviour: str,
        file: Path | str = "-",
        client: Any = None,
        env_id: str = GAME,
        limits: EpisodeLimits | None = None,
        **options: Any,
    ) -> Trajectory:
        model = ReferenceModel()
        program = f"'{sys.executable}' -I -S '{PROGRAM}'"
        if options.get("box") == "always":  # where the file is not
            program = f"{BOX_PYTHON} -I -S -c {shlex.quote(PROGRAM.read_text())}"
        command = f"command:{program} {behaviour} '{file}'"
        make_policy = with_reference_model(harness_policy(command, client or model, **options), model)

        async def run() -> Trajectory:
            plan = plan_episodes(env_id, 1, seed=3)
            async with RolloutEngine(plan, make_policy, concurrency=1, limits=limits) as engine:
                return await anext(aiter(engine))

        record = asyncio.run(run())
        assert list(folder.iterdir()) == []  # the program's folders are gone
        return record

    return played


def is_alive(process: int) -> bool:
    """Return whether a process runs; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_program_plays_and_every_call_is_a_turn(play: Play) -> None:
    """A program that asks its model and carries out the calls wins; each turn says what its model calls cost."""
    record = play("plays")
    assert record.outcome == "succeeded"
    assert [turn.action for turn in record.transitions] == ["\\boxed{5}", "\\boxed{2}", "\\boxed{3}"]
    assert all(turn.usage == {"prompt_tokens": 10, "completion_tokens": 2} for turn in record.transitions)


def test_the_record_of_an_episode_has_the_programs_calls_of_its_model(play: Play) -> None:
    """As one lineage, each with the number of turns before it, through a file and back; nothing contradicts it."""
    record = Trajectory.from_dict(json.loads(play("plays").to_json()))
    tree = lineages_of(record)
    assert tree is not None
    assert [(call.parent, call.turn) for call in tree.calls][:3] == [(None, 0), (0, 1), (1, 2)]
    assert len(tree.leaves()) == 1
    assert certify(record).faults == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the supervisor")
@pytest.mark.parametrize("behaviour", ["leaves_a_daemon", "is_killed", "hangs"])
def test_no_process_is_left(play: Play, tmp_path: Path, behaviour: str) -> None:
    """A process in a session of its own ends with the program, whether that ends, is killed, or never would."""
    record = play(behaviour, tmp_path / "processes", seconds=3.0 if behaviour == "hangs" else 600.0)
    processes = (tmp_path / "processes").read_text().split()
    assert len(processes) == 2
    assert not any(is_alive(int(process)) for process in processes)
    kinds = {"leaves_a_daemon": ("succeeded", "terminated"), "hangs": ("incomplete", "seconds")}
    if behaviour in kinds:
        assert (record.outcome, record.stop_reason) == kinds[behaviour]
    else:
        assert record.failure is not None
        assert (record.outcome, record.failure.kind) == ("unknown", "harness_killed")


def test_a_program_that_cannot_work_is_no_verdict_on_the_agent(play: Play) -> None:
    """A program that fails before its first call leaves the outcome unknown, and its last words in the record."""
    record = play("fails")
    assert record.failure is not None
    assert (record.outcome, record.failure.source, record.failure.kind) == (
        "unknown",
        "environment",
        "harness_not_started",
    )
    assert "no configuration found" in record.failure.message


def test_a_program_that_gives_up_has_not_succeeded(play: Play) -> None:
    """A program that ends in the middle of a game ends the episode by its own doing, without a further action."""
    record = play("gives_up")
    assert (record.outcome, record.stop_reason, len(record.transitions)) == ("incomplete", "agent_ended", 1)


@pytest.mark.nightly
def test_a_program_without_calls_answers(play: Play) -> None:
    """The output of a program that has called nothing is its action."""
    record = play("answers")
    assert [turn.action for turn in record.transitions] == ["forty-two"]


@pytest.mark.nightly
def test_a_flood_of_output_does_no_harm(play: Play) -> None:
    """A program that writes twelve megabytes plays on."""
    assert play("floods").outcome == "succeeded"


def test_calls_at_the_same_time_are_turns_one_after_the_other(play: Play) -> None:
    """Of two calls at once, each is a turn of its own."""
    record = play("calls_two_at_once")
    assert sorted(turn.action for turn in record.transitions) == ["\\boxed{10}", "\\boxed{9}"]


def test_a_call_after_the_end_is_told_so(play: Play, tmp_path: Path) -> None:
    """The result of the last call says that the episode is over, and so does that of each later one."""
    record = play("calls_after_the_end", tmp_path / "result")
    assert len(record.transitions) == 3
    assert "The episode is over" in (tmp_path / "result").read_text()


def test_after_the_end_a_model_has_few_answers_left(play: Play, tmp_path: Path) -> None:
    """One for the program's last word and one more; then the dialect's error with which programs end."""
    record = play("talks_on", tmp_path / "answers")
    assert record.outcome == "succeeded"
    assert (tmp_path / "answers").read_text() == "1 403"


def test_a_program_sees_nothing_of_the_trainer(play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the trainer's variables a program gets a short list, and a home of its own."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    record = play("shows_variables", tmp_path / "variables")
    assert record.failure is None, record.failure
    variables = json.loads((tmp_path / "variables").read_text())
    assert not {"HF_TOKEN", "HTTPS_PROXY"} & variables.keys()
    assert variables["HOME"] != os.environ.get("HOME")
    assert variables["PATH"] == os.environ["PATH"]
    origin = variables["ANTHROPIC_BASE_URL"]
    assert variables["OPENAI_BASE_URL"] == f"{origin}/v1"
    assert variables["GOOGLE_GEMINI_BASE_URL"] == origin
    assert variables["GEMINI_API_KEY"] == variables["OPENAI_API_KEY"]


@pytest.mark.nightly
@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_every_program_gets_the_addresses_of_all_dialects(tmp_path: Path, dialect: Dialect) -> None:
    """Whatever it speaks itself, since what it starts may speak another."""
    file = tmp_path / "variables"
    harness = Harness("mine", (sys.executable, "-I", "-S", str(PROGRAM), "shows_variables", str(file)), dialect=dialect)
    model = ReferenceModel()
    make_policy = with_reference_model(HarnessPolicyMaker(harness, model, box="never"), model)

    async def run() -> None:
        async with RolloutEngine(plan_episodes(GAME, 1, seed=3), make_policy, concurrency=1) as engine:
            await anext(aiter(engine))

    asyncio.run(run())
    variables = json.loads(file.read_text())
    assert variables["OPENAI_BASE_URL"] == variables["GOOGLE_GEMINI_BASE_URL"] + "/v1"


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        ({"calls": 2}, "calls"),
        pytest.param({"prompt_tokens": 20}, "prompt_tokens", marks=pytest.mark.nightly),
        pytest.param({"completion_tokens": 4}, "completion_tokens", marks=pytest.mark.nightly),
        pytest.param({"cost": 20e-6, "price_input": 1.0}, "cost", marks=pytest.mark.nightly),
    ],
)
def test_a_budget_is_a_limit_of_the_agent(play: Play, budget: dict[str, Any], limit: str) -> None:
    """A program that has used it up ends at the limit, and has not succeeded."""
    record = play("plays", **budget)
    assert (record.outcome, record.stop_reason, len(record.transitions)) == ("incomplete", limit, 2)


def test_a_model_that_gives_no_answer_is_a_fault_of_the_endpoint(play: Play) -> None:
    """A program that ends because its model failed leaves the outcome unknown."""

    def fail(_: Any) -> str:
        raise ModelError("unreachable", "no connection")

    record = play("plays", client=ScriptedClient(fail))
    assert record.failure is not None
    assert (record.outcome, record.failure.source, record.failure.kind) == ("unknown", "endpoint", "unreachable")


@pytest.mark.parametrize(
    ("answered", "outcome", "reason"),
    [(1, "incomplete", "agent_ended"), pytest.param(0, "unknown", None, marks=pytest.mark.nightly)],
)
def test_a_program_cannot_choose_an_unknown_outcome(
    play: Play, answered: int, outcome: str, reason: str | None
) -> None:
    """A request that the server refuses is the program's own, unless the server has never answered it."""
    calls = 0

    def refuse(_: Any) -> Completion:
        nonlocal calls
        calls += 1
        if calls > answered:
            raise ModelError("bad_request", "temperature must be below 2")
        action = {"name": "act", "arguments": '{"action": "\\\\boxed{1}"}'}
        called = {"id": "c", "type": "function", "function": action}
        return Completion({"role": "assistant", "content": None, "tool_calls": [called]}, tool_calls=[called])

    record = play("plays", client=ScriptedClient(refuse))
    assert (record.outcome, record.stop_reason, calls) == (outcome, reason, answered + 1)


def test_an_environment_with_pictures_is_refused_where_ids_would_lose_them() -> None:
    """Before the program starts, by the environment's id; without exact tokens, it may be played."""
    refused = pytest.raises(NotSupportedError, match="math:Geometry-v0 shows image")
    for exact, told in ((False, nullcontext()), (True, refused)):
        make = harness_policy("command:true", ScriptedClient(["x"]), exact_tokens=exact)
        with gem.make("math:Geometry-v0") as env, told:
            make(env)


@pytest.mark.parametrize(("box", "place"), [("auto", "none"), ("always", None)])
def test_a_program_that_fits_no_box(play: Play, monkeypatch: pytest.MonkeyPatch, box: str, place: str | None) -> None:
    """It stays outside, and the record says why; where only a box will do, its episode fails without bubblewrap."""
    monkeypatch.setenv("PATH", "/nowhere")
    obstacle_to_own_box.cache_clear()
    try:
        record = play("gives_up", box=box)
    finally:
        obstacle_to_own_box.cache_clear()
    if place is None:
        assert record.failure is not None
        assert (record.outcome, record.failure.kind) == ("unknown", "harness_not_started")
        assert "a box needs bubblewrap" in record.failure.message
    else:
        metadata = record.transitions[0].metadata
        assert metadata["harness_box"] == place
        assert "is a program of this machine" in metadata["harness_box_obstacle"]


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
@pytest.mark.parametrize("behaviour", ["plays", "gives_up", "answers"])
def test_a_program_plays_the_same_in_a_box(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    """Where bubblewrap makes one: the same turns and end as outside of it, and the record says where it ran."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outside = play(behaviour)
    inside = play(behaviour, box="always")
    assert [turn.action for turn in inside.transitions] == [turn.action for turn in outside.transitions]
    assert (inside.outcome, inside.stop_reason) == (outside.outcome, outside.stop_reason)
    assert [record.transitions[0].metadata["harness_box"] for record in (outside, inside)] == ["none", "own"]


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
@pytest.mark.parametrize("behaviour", ["kills_itself", "kills_its_keeper"])
def test_a_program_cannot_choose_an_unknown_outcome_by_a_signal(play: Play, behaviour: str) -> None:
    """In a box, where nobody else sends it one: it has ended by its own doing, and the episode is scored."""
    record = play(behaviour, box="always")
    assert (record.outcome, record.stop_reason, len(record.transitions)) == ("incomplete", "agent_ended", 1)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_a_box_that_is_killed_from_outside_is_told_apart() -> None:
    """From one whose program kills all that it can reach."""

    async def killed(command: str) -> bool:
        place = OwnBox(harness_of(f"command:{command}"), Path())
        try:
            await place.prepare()
            program = await place.start({}, ["/bin/sh", "-c", command], {}, reads_task=False)
            if command.startswith("sleep"):
                channel = place._channel
                assert channel is not None
                channel._process.kill()
            await asyncio.wait_for(program.wait(), 60)
            assert program.returncode
            return place.was_killed(program)
        finally:
            await place.remove()

    async def run() -> list[bool]:
        return [await killed(command) for command in ("sleep 3600", "kill -9 -1", "kill -9 $PPID", "kill -9 $$")]

    assert asyncio.run(run()) == [True, False, False, False]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_the_python_of_a_box_is_a_virtual_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's Python looks into site-packages, where a program's packages are shown, in virtual environments alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    layer = box_layer(harness_of("command:true"), tmp_path)
    asked = f"import sys, ssl; print(sys.prefix != sys.base_prefix, {BOX_SITE!r} in sys.path)"
    box = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/opt", "--ro-bind", layer, BOX]
    done = subprocess.run([*box, BOX_PYTHON, "-I", "-c", asked], capture_output=True, text=True, check=False)
    assert done.stdout == "True True\n"


@pytest.mark.nightly
def test_a_limit_of_turns_ends_the_program(play: Play) -> None:
    """A limit of the engine tells the program that the episode is over, and the program ends by itself."""
    record = play("plays", limits=EpisodeLimits(max_turns=1))
    assert (record.stop_reason, len(record.transitions)) == ("turns", 1)


TRAINER = """
import asyncio, sys
from gem_eval.clients import ScriptedClient
from gem_gateway.harnesses import harness_policy
from gem_rollout import RolloutEngine, plan_episodes

async def run():
    make = harness_policy(sys.argv[1], ScriptedClient([]))
    async with RolloutEngine(plan_episodes("game:GuessTheNumber-v0-easy", 1), make, concurrency=1) as engine:
        async for _ in engine:
            pass

asyncio.run(run())
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to the supervisor")
def test_a_killed_trainer_leaves_no_program(folder: Path, tmp_path: Path) -> None:
    """When the process of the engine is killed, the program and what it has started end."""
    note = tmp_path / "processes"
    command = f"command:'{sys.executable}' -I -S '{PROGRAM}' hangs '{note}'"
    variables = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen([sys.executable, "-c", TRAINER, command], env=variables) as trainer:
        until(lambda: note.exists() and len(note.read_text().split()) == 2)
        trainer.kill()
    processes = [int(process) for process in note.read_text().split()]
    until(lambda: not any(is_alive(process) for process in processes))


def until(is_so: Callable[[], bool]) -> None:
    """Wait for an event, at most a minute."""
    deadline = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_evaluation_plays_with_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``gem eval --harness`` records what the program did, and names it; resumed, it plays on with the same one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("silent_model.py").write_text("def answer(messages): return 'nothing'")
    options = ("--harness", "command:echo 'no number'", "-u", "scripted:silent_model:answer", "-n", "1", "--out", "run")
    options = (*options, "--server-tool", "code_interpreter=python")
    for arguments in ((GAME, *options), ("--resume", "run")):
        done = CliRunner().invoke(eval_command, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert "ran on this machine, with the rights of its user: 1 of 1 episodes" in " ".join(done.output.split())
    run = RunFolder("run")
    assert (run.config.agent, run.config.harness) == ("command:echo with scripted", "command:echo 'no number'")
    assert run.config.harness_options == {"server_tools": {"code_interpreter": "python"}}
    (row,) = run.rows()
    assert [turn.action for turn in run.episode(row).transitions] == ["no number"]


def test_an_evaluation_of_a_program_with_exact_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``gem eval --harness --exact-tokens`` counts the calls that continue exact ids, and their record is certain."""
    monkeypatch.chdir(tmp_path)
    program = f"command:'{sys.executable}' -I -S '{PROGRAM}' plays -"

    def guess(request: ModelRequest) -> str:
        number = sum(message["role"] == "assistant" for message in request.messages) + 1
        called = {"name": "act", "arguments": {"action": f"\\boxed{{{number}}}"}}
        return f"<tool_call>{json.dumps(called)}</tool_call>"

    with FakeModelThread(FakeModel(guess, dialect="vllm", recode=True)) as model:
        options = ("--harness", program, "-u", model.url, "-n", "2", "--out", "run", "--exact-tokens")
        done = CliRunner().invoke(eval_command, [GAME, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    run = RunFolder("run")
    assert run.config.exact_tokens
    for row in run.rows():
        assert row.token_calls - 1 == row.exact_calls > 1
        certificate = certify(run.episode(row))
        assert (certificate.faults, certificate.open) == ([], {})
        assert certificate.prompts_proved == certificate.answers_proved == row.token_calls
    assert "continue the ids before them" in done.output


def test_the_cost_of_an_episode_is_limited_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``gem eval --max-cost`` counts by the prices of the run and ends the episode; without prices it is refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("losing_model.py").write_text(
        "call = {'id': 'c', 'type': 'function', 'function': {'name': 'act', 'arguments': '{\"action\": \"x\"}'}}\n"
        "def answer(messages): return {'role': 'assistant', 'content': None, 'tool_calls': [call]}\n"
    )
    program = f"command:'{sys.executable}' -I -S '{PROGRAM}' plays -"
    options = ("--harness", program, "-u", "scripted:losing_model:answer", "-n", "1", "--harness-box", "never")
    limit = ("--max-cost", "0.5", "--price-output", "1000000", "--out", "run")
    done = CliRunner().invoke(eval_command, [GAME, *options, *limit], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (row,) = RunFolder("run").rows()
    assert (row.outcome, row.stop_reason) == ("incomplete", "cost")
    refused = CliRunner().invoke(eval_command, [GAME, *options, "--max-cost", "0.5", "--out", "other"])
    assert refused.exit_code == 2
    assert "--max-cost needs --price-input or --price-output" in refused.output


@pytest.mark.nightly
def test_served_reference_policies_stand_in_for_a_programs_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two games, by the tool that the program has for its episode, through gem eval."""
    monkeypatch.chdir(tmp_path)
    games = [GAME, "game:TowerofHanoi-v0-easy"]
    program = f"command:'{sys.executable}' -I -S '{PROGRAM}' plays -"
    with FakeModelThread(FakeModel(",".join(games))) as model:
        options = ("--harness", program, "-u", model.url, "-n", "2", "--out", "run")
        done = CliRunner().invoke(eval_command, [*games, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert [row.outcome for row in RunFolder("run").rows()] == ["succeeded"] * 4
