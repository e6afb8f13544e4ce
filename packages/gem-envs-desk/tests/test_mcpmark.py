"""MCPMark from a checkout of the user: its folders, its descriptions, its verifiers.

The nightly test needs ``GEM_MCPMARK_PATH``, the folder of a checkout. Without it, it is skipped. MCPMark's initial
folders are not part of its repository, so the test makes one with the names that a verifier of the checkout looks for.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_desk.adapters.mcpmark_env import McpMarkEnv

DONE = "<answer>done</answer>"
VERIFY = """import os
import sys
from pathlib import Path

folder = Path(os.environ["FILESYSTEM_TEST_DIR"])
print("looked")
sys.exit(0 if (folder / "kept" / "b.bin").read_bytes() == bytes(range(256)) else 1)
"""


def call(name: str, **arguments: str) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A task folder in the layout of MCPMark, with an initial folder that holds a file which is no text."""
    task = tmp_path / "tasks" / "filesystem" / "standard" / "letters" / "keep_it"
    task.mkdir(parents=True)
    (task / "description.md").write_text("Move `b.bin` into `kept/`. {No} placeholder.")
    (task / "meta.json").write_text(
        json.dumps({"category_id": "letters", "meta_data": {"stateUrl": "https://example.org/letters.zip"}})
    )
    (task / "verify.py").write_text(VERIFY)
    start = tmp_path / "test_environments" / "letters"
    (start / "kept").mkdir(parents=True)
    (start / "b.bin").write_bytes(bytes(range(256)))
    (start / "out").symlink_to("/etc")
    return tmp_path


def play(env: McpMarkEnv, *actions: str) -> float:
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        assert "fault" not in info
        if terminated or truncated:
            return reward
    raise AssertionError("the episode goes on")


def test_a_task_is_verified_by_its_program(checkout: Path) -> None:
    """Solved, left as it was, and restored in between; the initial folder stays as it is."""
    with McpMarkEnv(path=str(checkout)) as env:
        observation, _ = env.reset(seed=3)
        assert "Move `b.bin` into `kept/`. {No} placeholder." in observation
        assert env.task_names == ("letters/keep_it",)
        assert sorted(path.name for path in Path(env.workspace.folder).iterdir()) == ["b.bin", "kept"]
        assert play(env, DONE) == 0.0
        env.reset(seed=3)
        env.step(call("move_file", source="b.bin", destination="kept/b.bin"))
        state = json.loads(json.dumps(env.get_state()))
        assert play(env, DONE) == 1.0
        assert env.verification.strip() == "looked"
        with McpMarkEnv(path=str(checkout)) as other:
            other.set_state(state)
            assert play(other, DONE) == 1.0
    assert (checkout / "test_environments" / "letters" / "b.bin").exists()


def test_a_verifier_without_verdict_is_a_fault(checkout: Path) -> None:
    """An interpreter that is not there is not the agent's failure."""
    with McpMarkEnv(path=str(checkout), python=str(checkout / "no-python")) as env:
        env.reset(seed=0)
        _, _, _, truncated, info = env.step(DONE)
    assert truncated
    assert "no verdict" in str(info)


def test_what_is_missing_is_named(checkout: Path) -> None:
    """No path, a folder that is no checkout, a category without its folder, a service that needs the internet."""
    with gem.make("mcp:MCPMark-v0") as env, pytest.raises(ArgumentError, match="clone"):
        env.reset(seed=0)
    for values, words in (
        ({"path": str(checkout / "tasks")}, "no checkout"),
        ({"path": str(checkout), "category": "papers"}, "letters"),
        ({"path": str(checkout), "environments": str(checkout)}, "letters.zip"),
    ):
        with McpMarkEnv(**values) as env, pytest.raises(ArgumentError, match=words):
            env.reset(seed=0)
    with pytest.raises(ArgumentError, match="MCPMarkPostgres"):
        McpMarkEnv(service="postgres")
    with pytest.raises(ArgumentError, match="account of Notion"):
        McpMarkEnv(service="notion")


@pytest.mark.nightly
def test_a_task_of_the_checkout_is_solved(tmp_path: Path) -> None:
    """Files are sorted by size, which MCPMark's own program checks; an unsorted folder fails."""
    path = os.environ.get("GEM_MCPMARK_PATH")
    if not path:
        pytest.skip("GEM_MCPMARK_PATH names no checkout of MCPMark")
    folders = {
        "small_files": ("random_file_1.txt", "random_file_3.txt"),
        "medium_files": ("random_file_2.txt",),
        "large_files": ("bear.jpg", "sg.jpg", "road.MOV", "bus.MOV", "bridge.jpg"),
    }
    start = tmp_path / "file_property"
    start.mkdir()
    for size, names in zip((100, 500, 2000), folders.values(), strict=True):
        for name in names:
            (start / name).write_bytes(b"\xff" * size)
    with McpMarkEnv(path=path, category="file_property", environments=str(tmp_path)) as env:
        place = env.task_names.index("file_property/size_classification")
        env.reset(seed=0, options={"task": place})
        assert play(env, DONE) == 0.0
        env.reset(seed=0, options={"task": place})
        for folder, names in folders.items():
            env.step(call("create_directory", path=folder))
            for name in names:
                env.step(call("move_file", source=name, destination=f"{folder}/{name}"))
        assert play(env, DONE) == 1.0, env.verification
