"""``gem terminal``, as a person runs it, on every engine."""

from __future__ import annotations

import hashlib
import io
import json
import re
import secrets
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from click.testing import CliRunner

from gem_cli import main as gem_command
from gem_terminal import engines
from gem_terminal.cli.main import COMMANDS, terminal_command
from gem_terminal.cli.proof import Prover
from gem_terminal.cli.task_targets import tasks_of
from gem_terminal.engines import Engine
from gem_terminal.engines.base import LIMIT_NAMES, ProgressStage
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.env import TerminalEnv
from gem_terminal.errors import EngineError
from gem_terminal.plugin import gem_commands
from gem_terminal.task import Image

FILES = {
    "task.toml": (
        "[agent]\ntimeout_sec = 60.0\n[metadata]\ndifficulty = 'easy'\n"
        "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n"
    ),
    "instruction.md": "Write hello into /hello.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": (
        "#!/bin/bash\ncat /hello.txt\necho looked\n"
        '[ "$(cat /hello.txt)" = hello ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n'
    ),
    "solution/solve.sh": "echo hello > /hello.txt\n",
}


def write_task(folder: Path, **files: str | None) -> Path:
    """Write the task, some of its files replaced, or left out where they are None."""
    for name, content in {**FILES, **files}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


@pytest.fixture
def chosen(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine that the commands take, whichever is asked for."""
    monkeypatch.setattr(engines, "engine_by_name", lambda name: engine)
    return engine


def run(*arguments: object, code: int = 0, typed: str | None = None) -> str:
    """Run a command and return what it printed."""
    result = CliRunner().invoke(
        terminal_command, [str(word) for word in arguments], input=typed, catch_exceptions=False
    )
    assert result.exit_code == code, result.output
    return result.output


def run_json(*arguments: object, code: int = 0, typed: str | None = None) -> Any:
    """Run a command with ``--json`` and return what it printed on stdout."""
    words = [str(word) for word in arguments]
    result = CliRunner().invoke(terminal_command, [*words, "--json"], input=typed, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture
def failing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that runs a command as ``gem`` does, and returns what it wrote to stderr when it failed."""
    monkeypatch.setitem(gem_command.COMMANDS, "terminal", "gem_terminal.cli.main:terminal_command")

    def fail(*arguments: object, code: int = 1) -> str:
        monkeypatch.setattr(sys, "argv", ["gem", "terminal", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            gem_command.run()
        said = capsys.readouterr().err
        assert stopped.value.code == code, said
        assert "Traceback" not in said
        return said

    return fail


def test_the_plugin_offers_the_command() -> None:
    """What the hook names is the group of these commands."""
    from gem.entry_points import load

    assert load(gem_commands()["terminal"]) is terminal_command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    """Each has a description, examples, and JSON for programs; the group lists it."""
    said = run(name, "--help")
    assert "Examples:" in said
    assert f"gem terminal {name}" in said
    assert "--json" in said
    assert f"\n  {name} " in run("--help")


@pytest.mark.only_engine("docker", "namespace")  # a worker is named by its address
@pytest.mark.every_engine
def test_engines_say_what_they_bound(chosen: Engine) -> None:
    """A version, and each kind of limit; all of this without a container."""
    rows = {row["name"]: row for row in run_json("engines")}
    about = chosen.about()
    assert {"docker", "namespace"} <= set(rows)
    assert rows[chosen.name]["bounds"] == about.bounds
    assert set(about.bounds) == set(LIMIT_NAMES)
    assert about.version
    assert rows[chosen.name]["auto"]
    assert about.version in run("engines")


def test_an_engine_that_does_not_work_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a row like the others, with what to install."""

    def none_works(name: str) -> Engine:
        raise EngineError(f"{name} needs bwrap; install it")

    monkeypatch.setattr(engines, "engine_by_name", none_works)
    assert "docker: docker needs bwrap; install it" in run("engines")
    assert [row["works"] for row in run_json("engines")] == [False] * 3


def test_the_bundled_tasks_are_listed() -> None:
    """All twelve, with what they need."""
    rows = run_json("list")
    assert len(rows) == 12
    assert {row["error"] for row in rows} == {None}
    assert all(row["solution"] and not row["network"] for row in rows)
    assert "ledger" in run("list")


def test_a_bad_task_is_listed_beside_the_others(tmp_path: Path) -> None:
    """Malformed and unsupported tasks are named with what is wrong, and hide nobody."""
    write_task(tmp_path / "good", **{"environment/Dockerfile": "FROM --platform=linux/amd64 python:3 AS x\n"})
    write_task(tmp_path / "broken", **{"task.toml": "[agent\n"})
    write_task(tmp_path / "windows", **{"task.toml": "[environment]\nos = 'windows'\n"})
    write_task(tmp_path / "mute", **{"instruction.md": None})
    (tmp_path / "no task").mkdir()
    rows = {row["name"]: row for row in run_json("list", tmp_path)}
    assert set(rows) == {"good", "broken", "windows", "mute"}
    assert [name for name, row in rows.items() if row["error"] is None] == ["good"]
    assert "Windows" in rows["windows"]["error"]
    assert (rows["good"]["difficulty"], rows["good"]["seconds"], rows["good"]["image"]) == (
        "easy",
        60,
        "built on python:3",
    )
    said = run("list", tmp_path)
    assert "1 task, and 3 that cannot be used" in said
    assert "broken: " in said


def test_metadata_may_hold_anything(tmp_path: Path) -> None:
    """A difficulty that is a number, or a date, hides no task of the folder."""
    for name, value in (("a", "3"), ("b", "2020-01-01"), ("c", "['x']")):
        write_task(tmp_path / name, **{"task.toml": f"[metadata]\ndifficulty = {value}\n"})
    assert [row["difficulty"] for row in run_json("list", tmp_path)] == ["3", "2020-01-01", "['x']"]
    assert "3 tasks" in run("list", tmp_path)


def test_a_list_without_a_usable_task_fails(tmp_path: Path) -> None:
    """The exit code tells a workflow, the output the reasons."""
    write_task(tmp_path / "windows", **{"task.toml": "[environment]\nos = 'windows'\n"})
    assert "0 tasks, and 1 that cannot be used" in run("list", tmp_path, code=1)


def test_a_list_is_of_the_selected_tasks_as_they_would_be_played(failing: Callable[..., str], tmp_path: Path) -> None:
    """Filters, names and overrides are those of the environment; a wrong one is refused."""
    write_task(tmp_path / "a")
    write_task(tmp_path / "b", **{"task.toml": "[metadata]\ndifficulty = 'hard'\n"})
    (row,) = run_json("list", tmp_path, "--filter", "difficulty=hard", "--strict", "--limit", "memory=3G")
    assert (row["name"], row["network"], row["keep_processes"], row["memory"]) == ("b", False, False, 3 << 30)
    assert [row["name"] for row in run_json("list", tmp_path, "--task", "a")] == ["a"]
    assert "memory=4G" in failing("list", tmp_path, "--limit", "memory", code=2)
    assert "has no argument 'ram'" in failing("list", tmp_path, "--limit", "ram=1")


def test_what_is_no_task_is_refused(failing: Callable[..., str], tmp_path: Path) -> None:
    """A name that is nearly right is corrected; a folder without tasks says what makes one."""
    assert "did you mean 'ledger'" in failing("list", "ledgr")
    assert "task.toml" in failing("list", tmp_path)


def test_a_folder_goes_before_a_bundled_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task of one's own may be called as one of ours; a task that is named twice is there once."""
    monkeypatch.chdir(tmp_path)
    assert [one.name for one in tasks_of(("timetable", "ledger", "timetable"))] == ["timetable", "ledger"]
    write_task(tmp_path / "ledger")
    assert [one.folder for one in tasks_of(("ledger",))] == [tmp_path / "ledger"]


def test_a_new_task_is_sound_as_it_is(chosen: Engine, tmp_path: Path) -> None:
    """What `new` writes passes `verify` at once."""
    folder = tmp_path / "word-count"
    assert "gem terminal verify" in run("new", "word-count", "--into", folder)
    assert (folder / "tests/test.sh").stat().st_mode & 0o111
    (proof,) = run_json("verify", folder)
    assert (proof["ok"], proof["oracle"], proof["nothing"], proof["warnings"]) == (True, [1.0], [0.0], [])


def test_a_new_task_overwrites_nothing(failing: Callable[..., str], tmp_path: Path) -> None:
    """A folder with something in it stays as it is; a name that could not be one is refused."""
    (tmp_path / "file").touch()
    assert "not empty" in failing("new", "word-count", "--into", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert "lower-case" in failing("new", "Word Count", "--into", tmp_path / "x")
    assert "lower-case" in failing("new", "../up")
    assert run_json("new", "word-count", "--into", tmp_path / "y", "--author", "ada")["name"] == "word-count"
    assert 'name = "ada/word-count"' in (tmp_path / "y/task.toml").read_text()


UNSOUND: dict[str, tuple[dict[str, str | None], str]] = {
    "a wrong solution": ({"solution/solve.sh": "echo hullo > /hello.txt; echo tried\n"}, "earned 0: .*tried"),
    "no solution": ({"solution/solve.sh": None}, "has no solution"),
    "tests that always pass": ({"tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n"}, "doing nothing earned 1"),
    "tests without a verdict": ({"tests/test.sh": "true\n"}, "neither reward.json nor reward.txt"),
    "an image that cannot be built": (
        {"environment/Dockerfile": "FROM debian:bookworm-slim\nRUN echo no; false\n"},
        "RUN echo no|returned a non-zero",
    ),
    "a malformed file": ({"task.toml": "["}, "is no TOML"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", UNSOUND)
def test_an_unsound_task_fails(chosen: Engine, tmp_path: Path, case: str) -> None:
    """Exit code 1, with what is wrong; a sound task beside it is none the worse."""
    files, message = UNSOUND[case]
    write_task(tmp_path / "bad", **files)
    write_task(tmp_path / "good")
    bad, good = run_json("verify", tmp_path, code=1)
    assert (bad["ok"], good["ok"]) == (False, True)
    assert re.search(message, " ".join(bad["problems"]), re.DOTALL), bad


def test_reward_for_what_was_there_is_worth_a_warning(chosen: Engine, tmp_path: Path) -> None:
    """Doing nothing may earn a part, but it is said."""
    tests = "score=0.25\n[ -e /hello.txt ] && score=1\necho $score > /logs/verifier/reward.txt\n"
    said = run("verify", write_task(tmp_path / "task", **{"tests/test.sh": tests}))
    assert "warning" in said
    assert "doing nothing earned 0.25" in said
    assert "1 task, all sound" in said


def test_all_attempts_count(chosen: Engine, tmp_path: Path) -> None:
    """Each is played as often as asked for, and one that fails is a failure."""
    folder = write_task(tmp_path / "task")
    (proof,) = run_json("verify", folder, "--attempts", 3)
    assert (proof["oracle"], proof["nothing"]) == ([1.0] * 3, [0.0] * 3)


def test_the_log_of_a_failed_task_is_shown(chosen: Engine, tmp_path: Path) -> None:
    """What the tests printed stands below the table."""
    said = run("verify", write_task(tmp_path / "task", **{"solution/solve.sh": "echo hullo > /hello.txt\n"}), code=1)
    assert "  hullo" in said
    assert "  looked" in said
    assert "1 task, 1 failed" in said


def test_what_is_going_on_ends_at_once_when_it_is_stopped(
    chosen: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt waits for no solution: the containers are removed, and the threads come back."""
    (found,) = tasks_of((str(write_task(tmp_path / "task", **{"solution/solve.sh": "sleep 600\n"})),))
    prover, begun, play = Prover(chosen, 1), Event(), TerminalEnv.step

    def step(env: TerminalEnv, action: Any) -> Any:
        begun.set()
        return play(env, action)

    monkeypatch.setattr(TerminalEnv, "step", step)
    proofs: list[Any] = []
    thread = Thread(target=lambda: proofs.append(prover.prove(found)))
    thread.start()
    assert begun.wait(60)
    prover.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert not proofs[0].ok


def test_a_step_that_begins_when_the_proof_is_stopped_starts_no_container(
    chosen: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of the step is closed, and a fresh container would run the solution to its end."""
    (found,) = tasks_of((str(write_task(tmp_path / "task")),))
    prover, play = Prover(chosen, 1), TerminalEnv.step

    def step(env: TerminalEnv, action: Any) -> Any:
        prover.stop()
        return play(env, action)

    monkeypatch.setattr(TerminalEnv, "step", step)
    proof = prover.prove(found)
    assert (proof.oracle, len(proof.problems)) == ([], 1)
    assert "closed" in proof.problems[0]


def test_only_a_stopped_proof_survives_any_error(
    chosen: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails because its connection was closed is an interruption; the same error otherwise is a defect."""
    (found,) = tasks_of((str(write_task(tmp_path / "task")),))
    prover = Prover(chosen, 1)

    def step(env: TerminalEnv, action: Any) -> Any:
        raise AttributeError("no connection")

    monkeypatch.setattr(TerminalEnv, "step", step)
    with pytest.raises(AttributeError, match="no connection"):
        prover.prove(found)

    def stopped(env: TerminalEnv, action: Any) -> Any:
        prover.stop()
        return step(env, action)

    monkeypatch.setattr(TerminalEnv, "step", stopped)
    assert prover.prove(found).problems == ["it was interrupted"]


@pytest.mark.every_engine
def test_images_are_made_ahead_once(chosen: Engine, tmp_path: Path) -> None:
    """The second time it was there before; one that cannot be made fails, and the others are made."""
    unique = f"FROM debian:bookworm-slim\nENV WHICH={secrets.token_hex(8)}\n"
    write_task(tmp_path / "good", **{"environment/Dockerfile": unique})
    write_task(tmp_path / "zbad", **{"environment/Dockerfile": "FROM debian:bookworm-slim\nRUN false\n"})
    good, bad = run_json("build", tmp_path, code=1)
    assert (good["made"], good["error"], bad["image"]) == (True, None, None)
    assert bad["error"]
    (again,) = run_json("build", tmp_path / "good")
    assert (again["made"], again["image"]) == (False, good["image"])
    assert "before" in run("build", tmp_path / "good")
    _forget(chosen, good["image"])


PREPARE = """
import json, sys
from pathlib import Path
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.task import Image
engine = DockerEngine() if sys.argv[1] == "docker" else NamespaceEngine(Path(sys.argv[2]))
told = []
reference = engine.prepare(Image(folder=Path(sys.argv[3])), told.append)
print(json.dumps([reference, [stage.text for stage in told]]))
engine.close()
"""


@pytest.mark.only_engine("docker", "namespace")  # it makes or opens one itself
@pytest.mark.every_engine
def test_one_of_many_processes_makes_an_image(engine: Engine, cache: Path, tmp_path: Path) -> None:
    """Processes that need the same image at once all have it, and it is made once."""
    nonce = secrets.token_hex(8)
    (tmp_path / "Dockerfile").write_text(f"FROM debian:bookworm-slim\nRUN echo {nonce} > /nonce\n")
    command = [sys.executable, "-c", PREPARE, engine.name, str(cache), str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    done = [json.loads(process.communicate(timeout=300)[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len({reference for reference, _ in done}) == 1
    assert sum(any(nonce in text for text in told) for _, told in done) == 1
    _forget(engine, done[0][0])


@pytest.mark.every_engine
def test_one_of_many_threads_makes_an_image(engine: Engine, tmp_path: Path) -> None:
    """Threads that need the same image at once wait for the one that makes it, which tells its steps."""
    nonce = secrets.token_hex(8)
    (tmp_path / "Dockerfile").write_text(f"FROM debian:bookworm-slim\nRUN echo {nonce} > /nonce\n")
    stages: list[ProgressStage] = []
    references: list[str] = []
    threads = [
        Thread(target=lambda: references.append(engine.prepare(Image(folder=tmp_path), stages.append)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(references) == 6
    assert len(set(references)) == 1
    (step,) = [stage for stage in stages if nonce in stage.text and stage.text.startswith("RUN")]
    assert (step.done, step.total) == (2, 3 if engine.name == "docker" else 2)  # the engine adds a label
    _forget(engine, references[0])


def _forget(engine: Engine, reference: str) -> None:
    if isinstance(engine, DockerEngine):
        engine.client.images.remove(reference, force=True)


def tree(**files: bytes) -> bytes:
    """Return a tar archive with files, whose names have ``__`` for ``/``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def saved(path: Path, name: str) -> Path:
    """Write what `docker save` writes of an image with one layer."""
    layer = tree(usr__share__words=b"hello\n")
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["GREETING=good morning"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    path.write_bytes(
        tree(
            **{
                "config.json": json.dumps(config).encode(),
                "layer.tar": layer,
                "manifest.json": json.dumps(manifest).encode(),
            }
        )
    )
    return path


@pytest.fixture
def private(engine: Engine, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """The engine that the commands take, with a folder of images of its own where it has one at all."""
    made = NamespaceEngine(tmp_path / "images") if isinstance(engine, NamespaceEngine) else engine
    (tmp_path / "images" / "bases").mkdir(parents=True)
    (tmp_path / "images" / "bases" / "debian_bookworm-slim").symlink_to(cache / "bases" / "debian_bookworm-slim")
    monkeypatch.setattr(engines, "engine_by_name", lambda name: made)
    yield made
    if made is not engine:
        made.close()


@pytest.mark.only_engine("docker", "namespace")  # it makes or opens one itself
@pytest.mark.every_engine
@pytest.mark.parametrize("kind", ["root file system", "saved image"])
def test_a_base_image_comes_from_an_archive(private: Engine, tmp_path: Path, kind: str) -> None:
    """A Dockerfile can begin with it; it is taken once; what the image sets is set."""
    name = f"gem-terminal-test/{secrets.token_hex(6)}:1"
    archive = tmp_path / "archive.tar"
    if kind == "saved image":
        saved(archive, name)
    else:
        archive.write_bytes(tree(usr__share__words=b"hello\n"))
    assert run_json("base", name, "--from", archive)["made"]
    assert not run_json("base", name, "--from", archive)["made"]
    assert "already" in run("base", name, "--from", archive)
    assert private.has_base(name)
    (tmp_path / "Dockerfile").write_text(f"FROM {name}\nENV MORE=1\n")
    reference = private.prepare(Image(folder=tmp_path))
    greeting = "good morning" if kind == "saved image" else None
    assert _variables(private, reference).get("GREETING") == greeting
    _forget(private, reference)
    _forget(private, name)


def _variables(engine: Engine, reference: str) -> dict[str, str]:
    if isinstance(engine, DockerEngine):
        lines: Sequence[str] = engine.client.images.get(reference).attrs["Config"]["Env"] or ()
        return dict(line.split("=", 1) for line in lines)
    assert isinstance(engine, NamespaceEngine)
    variables: dict[str, str] = engine._images.layers(reference)[1]["environment"]
    return variables


@pytest.mark.only_engine("docker", "namespace")  # it makes or opens one itself
@pytest.mark.every_engine
def test_an_archive_that_is_no_image_is_refused(private: Engine, tmp_path: Path, failing: Callable[..., str]) -> None:
    """The file is named, and no image of that name comes about."""
    name = f"gem-terminal-test/{secrets.token_hex(6)}:1"
    (tmp_path / "archive.tar").write_bytes(tree(home__notes=b""))
    assert "archive.tar" in failing("base", name, "--from", tmp_path / "archive.tar")
    assert not private.has_base(name)


def test_a_base_image_has_one_source(failing: Callable[..., str], tmp_path: Path) -> None:
    """Nothing to make it from, two things at once, and a file that is not there are wrong usage."""
    (tmp_path / "a.tar").touch()
    assert "--from" in failing("base", "mine:1", code=2)
    assert "pass either" in failing("base", "mine:1", "--from", tmp_path / "a.tar", "--suite", "bookworm", code=2)
    assert "does not exist" in failing("base", "mine:1", "--from", tmp_path / "b.tar", code=2)


@pytest.mark.only_engine("namespace")
def test_what_nobody_needs_is_removed(private: Engine, tmp_path: Path) -> None:
    """Images go but for those that are to be kept, with their layers; base images stay."""
    assert isinstance(private, NamespaceEngine), "images of an engine that others use at the same time stay"
    for name in ("kept", "gone"):
        write_task(
            tmp_path / name,
            **{"environment/Dockerfile": f"FROM debian:bookworm-slim\nCOPY {name} /\n", f"environment/{name}": ""},
        )
    assert [row["error"] for row in run_json("build", tmp_path / "kept", tmp_path / "gone")] == [None, None]
    (row,) = run_json("reap", "--engine", "namespace", "--images", tmp_path / "kept")
    assert row["images"] == 1
    assert [row["made"] for row in run_json("build", tmp_path / "kept", tmp_path / "gone")] == [False, True]
    assert private.has_base("debian:bookworm-slim")
    assert "removed 0 containers and 1 images" in run("reap", "--engine", "namespace", "--images", tmp_path / "kept")


@pytest.mark.every_engine
@pytest.mark.only_engine("docker")
def test_only_images_of_tasks_are_removed(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a Docker engine those that were built here, but for the ones to keep."""
    assert isinstance(engine, DockerEngine)
    folders = [tmp_path / name for name in ("kept", "gone")]
    for folder in folders:
        folder.mkdir()
        (folder / "Dockerfile").write_text(f"FROM debian:bookworm-slim\nENV WHICH={secrets.token_hex(8)}\n")
    kept, gone = [engine.prepare(Image(folder=folder)) for folder in folders]
    everything = engine.client.api.images(filters={"label": "gem.terminal=image"})
    listed = [each for each in everything if {kept, gone} & set(each["RepoTags"] or ())]
    assert len(listed) == 2
    vanished = {"RepoTags": [f"{gone}-that-somebody-removed"]}
    monkeypatch.setattr(engine.client.api, "images", lambda *_, **__: [*listed, vanished])  # nobody else's
    assert engine.discard_images([Image(folder=folders[0])]) == 1
    monkeypatch.undo()
    assert engine.has_base(kept)
    assert not engine.has_base(gone)
    _forget(engine, kept)


@pytest.mark.only_engine("docker", "namespace")  # it makes or opens one itself
@pytest.mark.every_engine
def test_reaping_says_how_many(chosen: Engine) -> None:
    """A number for each engine; arguments that do not fit are wrong usage."""
    (row,) = run_json("reap", "--engine", chosen.name)
    assert row["engine"] == chosen.name
    assert row["containers"] >= 0
    assert row["images"] is None
    assert f"{chosen.name}: removed" in run("reap", "--engine", chosen.name)
    assert "--images" in run("reap", "ledger", code=2)


TYPED = """\
cd /tmp; X=5
echo $X in $PWD
.read /etc/hostname
.keys 'echo on the $((40 + 2))nd' Enter
.fly
.help
./nothing
echo hello > /hello.txt
.finish
echo never
"""


def test_a_person_tries_a_task(chosen: Engine, tmp_path: Path) -> None:
    """Commands, files, keys and the verdict; what cannot be understood is said, and costs nothing."""
    folder = write_task(tmp_path / "task")
    said = run("shell", folder, typed=TYPED)
    for text in (
        "Write hello into",
        "5 in /tmp",
        "on the 42nd",
        "'.fly' is not a command",
        "No such file",
        "Reward 1.",
    ):
        assert text in said
    assert "never" not in said.replace("echo never", "")
    report = run_json("shell", folder, typed=TYPED)
    assert (report["task"], report["reward"], report["success"], len(report["turns"])) == ("task", 1.0, True, 6)
    assert report["turns"][1] == {"typed": "echo $X in $PWD", "observation": "5 in /tmp\n[exit code 0]"}


def test_a_person_leaves_without_a_verdict(chosen: Engine, tmp_path: Path) -> None:
    """The end of the input, and .quit, are no verdict and no failure."""
    folder = write_task(tmp_path / "task")
    assert "without a result" in run("shell", folder, typed="true\n")
    assert run_json("shell", folder, typed=".quit\necho no\n") == {
        "task": "task",
        "turns": [],
        "reward": None,
        "success": None,
        "error": None,
    }


def test_what_is_typed_is_text(
    chosen: Engine, failing: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other bytes are refused with the encoding that is read."""
    folder = write_task(tmp_path / "task")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"true\n\xff\n"), encoding="utf-8"))
    assert "utf-8" in failing("shell", folder)


def test_one_task_is_tried_at_a_time(failing: Callable[..., str], tmp_path: Path) -> None:
    """Of a folder with several it is said which there are; a task that is none says why."""
    write_task(tmp_path / "a")
    write_task(tmp_path / "b")
    assert "choose one: a, b" in failing("shell", tmp_path)
    write_task(tmp_path / "c", **{"task.toml": "["})
    assert "no TOML" in failing("shell", tmp_path / "c")
