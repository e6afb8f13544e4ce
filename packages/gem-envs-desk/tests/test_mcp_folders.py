"""Tasks on folders of files: their solutions, and paths that lead nowhere else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_desk.mcp.families.folders import FOLDER_FAMILIES
from gem_envs_desk.mcp.folder_env import FolderEnv, FolderPolicy
from gem_envs_desk.mcp.folder_workspace import FolderWorkspace, WorkspaceFileError


def call(env: FolderEnv, name: str, **arguments: Any) -> str:
    return str(env.step(f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>")[0])


def check_family(family: str, seed: int) -> None:
    with FolderEnv(families=family) as env:
        observation, info = env.reset(seed=seed)
        policy = FolderPolicy(env)
        policy.reset(observation, info)
        reward, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        assert reward == 1.0, (family, seed, observation)
        task = env.current
        answer = "done" if task.answer is None else "\n".join(task.answer)

        def score(calls: Any, answer: str = answer) -> float:
            env.reset(options={"task": env.task})
            for name, arguments in calls:
                call(env, name, **arguments)
            return float(env.step(f"<answer>{answer}</answer>")[1])

        assert score((), "done") == 0.0
        for place in range(len(task.solution)):
            rest = task.solution[:place] + task.solution[place + 1 :]
            assert score(rest) == 0.0, (family, seed, task.solution[place])
        assert score((*task.solution, ("write_file", {"path": "souvenir", "content": ""}))) == 0.0


@pytest.mark.parametrize("family", FOLDER_FAMILIES)
def test_a_task_has_one_right_end(family: str) -> None:
    """The reference policy earns 1; doing nothing, and the solution without one of its calls, earn 0."""
    check_family(family, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("family", FOLDER_FAMILIES)
def test_every_task_has_one_right_end(family: str) -> None:
    """Over many seeds."""
    for seed in range(25):
        check_family(family, seed)


def test_no_path_leads_out_of_the_folder(tmp_path: Path) -> None:
    """Neither upwards, nor absolute, nor through a symbolic link that somebody puts there, for any tool."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    workspace = FolderWorkspace({"inner": None, "inner/a.txt": "a\n"})
    try:
        folder = Path(workspace.folder)
        (folder / "way").symlink_to(tmp_path)
        (folder / "file").symlink_to(secret)
        (folder / "inner" / "up").symlink_to("..")
        os.mkfifo(folder / "pipe")
        for path in (
            "../secret.txt", str(secret), "way/secret.txt", "file", "inner/up/../secret.txt", "inner/../../x",
            "inner/up/inner/a.txt", "pipe", "nul\0", "x" * 300, "a/" * 40 + "b", "/etc/passwd",
        ):  # fmt: skip
            for use in (
                workspace.read,
                lambda path: workspace.write(path, "changed"),
                lambda path: workspace.move("inner/a.txt", f"{path}/a.txt"),
                lambda path: workspace.make_directory(f"{path}/new"),
                lambda path: workspace.list_directory(f"{path}/x"),
            ):
                with pytest.raises(WorkspaceFileError):
                    use(path)
        assert workspace.read("inner/a.txt") == "a\n"
        assert workspace.snapshot()["way"] == ("special",)
    finally:
        workspace.close()
    assert secret.read_text() == "secret"
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]


def test_no_call_leaves_a_descriptor_open() -> None:
    """Each tool on a file, a folder, a link, a pipe and nothing, however it is answered."""
    workspace = FolderWorkspace({"inner": None, "inner/a.txt": "a\n", "b.txt": "b\n"})
    try:
        folder = Path(workspace.folder)
        (folder / "link").symlink_to("b.txt")
        os.mkfifo(folder / "pipe")
        before = len([*Path("/proc/self/fd").iterdir()])
        for path in ("inner/a.txt", "inner", "inner/a.txt/x", "link", "pipe", "pipe/x", "missing", ".", ""):
            for use in (
                workspace.read,
                workspace.info,
                workspace.list_directory,
                workspace.search,
                lambda path: workspace.write(path, "b\n"),
                lambda path: workspace.move(path, "b.txt"),
                workspace.make_directory,
                workspace.delete,
                lambda path: workspace.write(path, "b\n"),
            ):
                with contextlib.suppress(WorkspaceFileError):
                    use(path)
            assert len([*Path("/proc/self/fd").iterdir()]) == before, path
    finally:
        workspace.close()


@given(path=st.text(max_size=40), content=st.text(max_size=40))
def test_a_file_is_read_as_it_was_written(path: str, content: str) -> None:
    """Under any name that a file system takes, with any text; or the agent is told why not."""
    workspace = FolderWorkspace({})
    try:
        try:
            workspace.write(path, content)
        except WorkspaceFileError:
            assert workspace.snapshot() == {}
        else:
            assert workspace.read(path) == content
            assert list(workspace.snapshot().values()) == [content]
    finally:
        workspace.close()


def test_an_edit_needs_a_text_that_occurs_once() -> None:
    """Otherwise the file stays as it was."""
    with FolderEnv(families="configure") as env:
        env.reset(seed=0)
        assert "not once" in call(env, "edit_file", path="services/mail.ini", old="e", new="x")
        assert "Edited" in call(env, "edit_file", path="services/mail.ini", old="[service]", new="[changed]")
        state = json.loads(json.dumps(env.get_state()))
        assert "[changed]" in call(env, "read_text_file", path="services/mail.ini")
    with FolderEnv(families="configure") as other:
        other.set_state(state)
        assert "[changed]" in call(other, "read_text_file", path="services/mail.ini", lines=1)


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """And that of a living one is not."""
    script = (
        "import sys, time\n"
        "from gem_envs_desk.mcp.folder_workspace import FolderWorkspace\n"
        "held = FolderWorkspace({'a': 'b'})\n"
        "print(held.folder, flush=True)\n"
        "sys.stdin.read()\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    started: list[subprocess.Popen[str]] = []

    def start() -> Path:
        process = subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout is not None
        return Path(process.stdout.readline().strip())

    try:
        killed, living = start(), start()
        assert killed.exists()
        assert living.exists()
        started[0].send_signal(signal.SIGKILL)
        started[0].wait()
        assert killed.exists()
        third = start()
        assert not killed.exists()
        assert living.exists()
        assert third.exists()
    finally:
        for process in started:
            process.communicate()
    assert not list(tmp_path.iterdir())
