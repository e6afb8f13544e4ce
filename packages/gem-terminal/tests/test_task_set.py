"""Folders of tasks: what cannot be used is skipped and named, parts are selected, and what tasks say is overridden."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError, GemError
from gem_terminal import TerminalEnv, task_set, warnings_once
from gem_terminal.engines import Engine
from gem_terminal.errors import TaskError
from gem_terminal.formats.dataset_manifest import task_digest
from gem_terminal.network.connection_hints import connection_hint
from gem_terminal.task import Task
from gem_terminal.task_filter import matching
from gem_terminal.task_options import TaskOptions
from gem_terminal.task_set import load_task_set
from gem_terminal.verdicts.verifier_result import VerifierResult

SEPARATE = "[verifier]\nenvironment_mode = 'separate'\n"


def write_task(folder: Path, toml: str = "", **files: str) -> Path:
    """Write a task of Harbor."""
    contents = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": "FROM debian:bookworm-slim\n",
        "tests/test.sh": "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n",
        **files,
    }
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with three usable tasks and three that are not."""
    folder = tmp_path / "mixed"
    for name, difficulty, tags, split in (("a", "easy", "'git'", "train"), ("b", "hard", "'git', 'make'", "test")):
        write_task(folder / name, f"[metadata]\ndifficulty = '{difficulty}'\ntags = [{tags}]\nsplit = '{split}'\n")
    write_task(folder / "c", "[task]\nname = 'org/see'\nkeywords = ['ssh']\n[environment]\nmemory = '4G'\n")
    write_task(folder / "broken", "[")
    write_task(folder / "windows", "[environment]\nos = 'windows'\n")
    compose = "services: {main: {volumes: ['v:/a']}, b: {image: x, volumes: ['v:/a']}}\n"
    write_task(folder / "many", **{"environment/docker-compose.yaml": compose})
    return folder


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test meets a process that has neither warned nor read anything."""
    monkeypatch.setattr(warnings_once, "_GIVEN", set())
    task_set._KEPT.clear()
    yield
    task_set._KEPT.clear()


def names(folder: Path, **selection: Any) -> list[str]:
    """The names of the usable tasks of a selection."""
    return [task.name for task in load_task_set(folder, **selection).tasks]


def test_one_unusable_task_does_not_refuse_a_folder(mixed: Path) -> None:
    """The others play; one warning counts the reasons, and an attribute names each task that is left out."""
    with pytest.warns(UserWarning, match=r"3 of 6 tasks .*several containers with a shared volume \(1\)") as caught:
        env = TerminalEnv(path=mixed)
    assert [str(one.message).count("Windows (1)") for one in caught] == [1]
    assert [task.name for task in env.tasks] == ["a", "b", "see"]
    assert {one.name: one.need for one in env.skipped} == {
        "broken": None,
        "many": "several containers with a shared volume",
        "windows": "Windows",
    }
    assert [task.name for task in TerminalEnv(path=mixed).tasks] == ["a", "b", "see"]  # without a second warning


def test_skipping_can_be_forbidden(mixed: Path) -> None:
    """The first unusable task is then an error with its file; so is a folder that has no other tasks."""
    with pytest.raises(TaskError, match=r"broken.*task\.toml is no TOML"):
        TerminalEnv(path=mixed, skip_unsupported=False)
    with pytest.raises(TaskError, match="Windows"):
        TerminalEnv(path=mixed / "windows")
    assert len(TerminalEnv(path=mixed, tasks=["a"], skip_unsupported=False).tasks) == 1


def test_a_process_parses_a_folder_once(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments share the tasks, also when threads load at the same time; a changed file is read again."""
    read: list[Path] = []
    load_task = task_set.load_task

    def counting(folder: Path) -> Task:
        read.append(folder)
        return load_task(folder)

    monkeypatch.setattr(task_set, "load_task", counting)
    threads = [threading.Thread(target=load_task_set, args=(mixed,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read) == 6
    assert load_task_set(mixed).tasks[0] is load_task_set(mixed).tasks[0]
    (mixed / "a" / "instruction.md").write_text("Do something else.\n")
    assert load_task_set(mixed).tasks[0].instruction == "Do something else."
    before = len(read)
    monkeypatch.setenv("GEM_TEST_OF_TASKS", "1")  # the environment of a task may come from variables
    load_task_set(mixed)
    assert len(read) == before + 6


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("difficulty=easy", "a"),
        ("difficulty = EASY", "a"),
        ("tag:git", "a b"),
        ("difficulty=easy and tag:git", "a"),
        ("tag:make or tag:ssh", "b see"),
        ("not tag:git", "see"),
        ("not (tag:make or tag:ssh)", "a"),
        ("tag:git and not tag:make or name=c", "a see"),
        ("tag!=git", "see"),
        ("name=[ab]", "a b"),
        ("tag:'git' and difficulty=\"hard\"", "b"),
        ("memory>2G", "see"),
        ("memory <= 2147483648", "a b"),
        ("network=yes and format=harbor", "a b see"),
    ],
)
def test_filters_select(mixed: Path, condition: str, expected: str) -> None:
    """Conditions on metadata, tags, names and limits, joined by words; or binds less than and."""
    assert names(mixed, filter=condition) == expected.split()


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("dificulty=easy", "did you mean 'difficulty'"),
        ("difficulty", "is no condition"),
        ("difficulty=easy and", "a condition is missing"),
        ("(tag:git", "not closed"),
        ("tag:git tag:ssh", "not expected"),
        ("memory>much", "no number"),
        ("difficulty=none", "no task in"),
        ("not " * 100 + "tag:git", "nested too deeply"),
        ("", "must not be empty"),
    ],
)
def test_a_filter_that_selects_nothing_is_refused(mixed: Path, condition: str, words: str) -> None:
    """The message says what is wrong and which keys there are."""
    with pytest.raises(ArgumentError, match=words):
        load_task_set(mixed, filter=condition)


@given(st.lists(st.sampled_from(["tag:git", "and", "or", "not", "(", ")", "x", "=", "name=a", "'", "memory>1", "<"])))
def test_any_text_is_a_filter_or_an_error_that_quotes_it(words: list[str]) -> None:
    """Nothing else is raised."""
    task = Task("a", "", image=None, tests=None, folder=Path("a"), format="harbor")  # type: ignore[arg-type]
    try:
        accepted = matching(" ".join(words), [task])
    except ArgumentError as error:
        accepted = [] if str(error).startswith("filter: ") else [task, task]
    assert accepted in ([], [task])


def test_tasks_and_splits_are_selected_by_name(mixed: Path) -> None:
    """By the name of a task or of its folder, in the caller's order; a split is metadata or a subfolder."""
    assert names(mixed, tasks=["c", "a"]) == ["see", "a"]
    assert names(mixed, tasks=["see"]) == ["see"]
    assert names(mixed, split="test") == ["b"]
    assert names(mixed.parent, split="mixed", filter="tag:git") == ["a", "b"]
    with pytest.raises(ArgumentError, match="its splits are test, train"):
        load_task_set(mixed, split="dev")
    with pytest.raises(ArgumentError, match="did you mean 'windows'"):
        load_task_set(mixed, tasks=["window"])
    with pytest.raises(ArgumentTypeError, match="list of names"):
        load_task_set(mixed, tasks="abc")
    with pytest.raises(ArgumentError, match="pass them with path"):
        TerminalEnv(task="ledger", tasks=["ledger"])


def test_an_unusable_task_can_be_selected_and_is_then_an_error(mixed: Path) -> None:
    """Whoever names a task hears why it cannot be played."""
    with pytest.raises(TaskError, match="share the volume v"):
        TerminalEnv(path=mixed, tasks=["many"])


def manifest(folder: Path, **digests: str) -> Path:
    """Write Harbor's list of a data set."""
    lines = ["[dataset]", "name = 'org/set'"]
    for name, digest in digests.items():
        lines += ["[[tasks]]", f"name = 'org/{name}'", f"digest = '{digest}'"]
    (folder / "dataset.toml").write_text("\n".join(lines))
    return folder


def test_the_digest_of_a_task_is_harbors(tmp_path: Path) -> None:
    """Paths and contents of the published files count; files that Harbor or .gitignore leave out do not."""
    folder = write_task(tmp_path / "a", **{"README.md": "x", "notes.md": "not published", "tests/a.pyc": "ignored"})
    lines = ""
    for name in ("README.md", "environment/Dockerfile", "instruction.md", "task.toml", "tests/test.sh"):
        lines += f"{name}\0{hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n"
    assert task_digest(folder) == "sha256:" + hashlib.sha256(lines.encode()).hexdigest()
    before = task_digest(folder)
    (folder / "tests" / "log.txt").write_text("y")
    assert task_digest(folder) != before
    (folder / ".gitignore").write_text("*.txt\n*.pyc\n")
    assert task_digest(folder) == before
    (folder / "tests" / ".harborignore").write_text("*.sh\n")
    assert task_digest(folder) is None


def test_a_data_set_has_the_tasks_of_its_list_with_their_digests(tmp_path: Path) -> None:
    """Changed files, and tasks that only Harbor's registry has, are skipped with the reason; others do not count."""
    for name in ("a", "tasks/b", "c", "unlisted"):
        write_task(tmp_path / name)
    good = {name.rpartition("/")[2]: str(task_digest(tmp_path / name)) for name in ("a", "tasks/b")}
    manifest(tmp_path, **good, c="sha256:" + "0" * 64, d="sha256:" + "1" * 64)
    found = load_task_set(tmp_path)
    assert [task.name for task in found.tasks] == ["a", "b"]
    assert {one.name: one.need for one in found.skipped} == {"c": "other files than its digest", "d": "a download"}
    (tmp_path / "a" / "tests" / "test.sh").write_text("#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")
    assert [task.name for task in load_task_set(tmp_path).tasks] == ["b"]


def test_a_malformed_list_is_an_error(tmp_path: Path) -> None:
    """With its file and key; a dataset.toml of another program is none of Harbor's."""
    write_task(tmp_path / "a")
    manifest(tmp_path, a="md5:1")
    with pytest.raises(TaskError, match=r"dataset\.toml: tasks\.0\.digest"):
        load_task_set(tmp_path)
    (tmp_path / "dataset.toml").write_text("[general]\nsize = 1\n")
    assert len(load_task_set(tmp_path).tasks) == 1


def test_names_of_the_registry_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GEM downloads nothing from it, and says what does."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match="harbor dataset download"):
        TerminalEnv(path="terminal-bench@2.0")


def test_a_task_of_harbor_has_harbors_defaults(tmp_path: Path) -> None:
    """A network and living processes, unless its files or the caller say otherwise; strict asks for a word."""
    silent = write_task(tmp_path / "silent", SEPARATE)
    asking = write_task(tmp_path / "asking", "[environment]\nallow_internet = true\n")
    refusing = write_task(
        tmp_path / "refusing", "[metadata]\nkeep_processes = false\n[agent]\nnetwork_mode = 'no-network'\n"
    )

    def seen(folder: Path, **options: Any) -> tuple[bool, bool]:
        (task,) = TerminalEnv(path=folder, **options).tasks
        if task.tests.separate is not None:
            assert task.tests.separate.limits.network is task.limits.network
        return task.limits.network, task.keep_processes

    assert [seen(folder) for folder in (silent, asking, refusing)] == [(True, True), (True, True), (False, False)]
    assert [seen(folder, strict=True) for folder in (silent, asking)] == [(False, False), (True, False)]
    assert seen(asking, network=False) == (False, True)
    assert seen(refusing, network=True, keep_processes=True) == (True, True)
    assert seen(silent, strict=True, keep_processes=True, network=True) == (True, True)


def test_limits_override_the_tasks(tmp_path: Path) -> None:
    """In the agent's container and in the verifier's; sizes may be text."""
    folder = write_task(tmp_path / "a", SEPARATE + "[environment]\nmemory = '1G'\n")
    limits = {"memory": "4G", "disk": 10 << 30, "cpus": 0.5, "processes": 64}
    (task,) = TerminalEnv(path=folder, limits=limits).tasks
    assert task.tests.separate is not None
    for found in (task.limits, task.tests.separate.limits):
        assert (found.memory, found.disk, found.cpus, found.processes) == (4 << 30, 10 << 30, 0.5, 64)
    for wrong, words in (
        ({"ram": 1}, "no argument 'ram'"),
        ({"memory": "much"}, "a size is"),
        ({"memory": 1}, "at least"),
        ({"cpus": "2"}, "must be a number"),
        ("4G", "must be a table"),
    ):
        with pytest.raises(GemError, match=words):
            TaskOptions.checked(limits=wrong)  # type: ignore[arg-type]


def test_a_fork_while_a_folder_is_read_leaves_a_usable_lock(mixed: Path) -> None:
    """A child process of a thread that forks can read folders."""
    with task_set._LOCK:
        child = os.fork()
        if child == 0:
            os._exit(0 if len(load_task_set(mixed).tasks) == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("log", "network", "kept", "words"),
    [
        ("curl: (6) Could not resolve host: astral.sh", False, True, "network=True"),
        ("W: Temporary failure resolving 'deb.debian.org'", False, False, "network=True"),
        ("urllib.error.URLError: [Errno -3] Temporary failure in name resolution", False, True, "network=True"),
        ("curl: (6) Could not resolve host: astral.sh", True, True, "although"),
        ("curl: (7) Failed to connect to localhost port 80: Connection refused", False, False, "keep_processes=True"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", True, False, "keep_processes=True"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", True, True, None),
        ("1 failed, 2 passed", False, False, None),
    ],
)
def test_a_verdict_of_0_for_want_of_a_connection_says_so(
    log: str, network: bool, kept: bool, words: str | None
) -> None:
    """With the option that helps, and the line of the log; a reward has no such hint."""
    hint = connection_hint(VerifierResult({"reward": 0.0}, log=log), has_network=network, kept=kept)
    assert (hint is None) is (words is None)
    assert hint is None or (str(words) in hint and log[-20:] in hint)
    assert connection_hint(VerifierResult({"reward": 0.5}, log=log), has_network=network, kept=kept) is None


def test_an_episode_that_missed_its_server_is_told(engine: Engine, tmp_path: Path) -> None:
    """The agent's processes were killed, so nobody listens; the info of the last step names the option."""
    test = "#!/bin/bash\necho 0 > /logs/verifier/reward.txt\n(exec 3<>/dev/tcp/127.0.0.1/9)\n"
    folder = write_task(tmp_path / "a", **{"tests/test.sh": test})
    with TerminalEnv(path=folder, engine=engine, strict=True) as env:
        env.reset()
        *_, info = env.step("<finish/>")
    assert "keep_processes=True" in info["verifier_hint"]


def test_the_network_of_the_machine_is_a_warning(engine: Engine, tmp_path: Path) -> None:
    """Once for a process, and only where it is asked for."""
    with TerminalEnv(path=write_task(tmp_path / "a"), engine=engine, network="host") as env:
        with pytest.warns(UserWarning, match="gives the agent the network of this machine"):
            env.reset()
        env.reset()
