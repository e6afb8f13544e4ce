"""Folders that programs leave: measured and removed to any depth, whatever their rights."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_tools.sandbox.inside.trees import DEEPEST, remove_tree, tree_usage

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it opens folders by descriptor")

NAMES = st.binary(min_size=1, max_size=6).filter(lambda name: not {0, 47} & set(name) and name not in (b".", b".."))
TREES = st.recursive(
    st.sampled_from(["file", "link", "loop", "fifo"]),
    lambda inner: st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


def make(tree: object, path: Path, modes: list[int]) -> int:
    """Make a tree and return how many entries it has."""
    if tree == "file":
        path.write_bytes(b"x")
    elif tree == "fifo":
        os.mkfifo(path)
    elif isinstance(tree, str):
        path.symlink_to("/usr" if tree == "link" else ".")
    else:
        assert isinstance(tree, dict)
        path.mkdir()
        count = 1 + sum(make(inner, path / os.fsdecode(name), modes) for name, inner in tree.items())
        path.chmod(modes.pop() if modes else 0o700)
        return count
    return 1


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed in any case: others cannot remove what some tests put there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


def nested(folder: Path, levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nest folders with long names, deeper than a path can be."""
    with monkeypatch.context() as context:
        context.chdir(folder)
        for _ in range(levels):
            Path("d" * 250).mkdir()
            os.chdir("d" * 250)
        Path("file").write_bytes(bytes(100_000))


@given(st.dictionaries(NAMES, TREES, max_size=4), st.lists(st.sampled_from([0, 0o500, 0o300, 0o1777]), max_size=6))
@settings(deadline=None, max_examples=25)
def test_every_tree_is_counted_and_removed(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[bytes, object], modes: list[int]
) -> None:
    """Also with names that are no text, links, and folders without rights; nothing outside is touched."""
    folder = tmp_path_factory.mktemp("tree") / "scratch"
    count = make(tree, folder, modes) - 1
    if os.geteuid() == 0:
        assert tree_usage(str(folder), math.inf, math.inf)[1] == count
    remove_tree(str(folder))
    assert not folder.exists()
    assert Path("/usr").is_dir()
    assert not os.path.lexists(folder)


def test_a_tree_deeper_than_a_path_is_over_every_limit_and_is_removed(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recursion and paths would end long before."""
    nested(scratch, DEEPEST - 1, monkeypatch)
    assert tree_usage(str(scratch), math.inf, math.inf)[1] == DEEPEST
    remove_tree(str(scratch))
    scratch.mkdir()
    nested(scratch, 1100, monkeypatch)
    assert tree_usage(str(scratch), math.inf, math.inf) == (math.inf, math.inf)
    remove_tree(str(scratch))
    assert not scratch.exists()


def test_measuring_ends_where_a_limit_is_exceeded(tmp_path: Path) -> None:
    """So that a program cannot make its server count for long."""
    for number in range(50):
        (tmp_path / str(number)).write_bytes(bytes(8192))
    assert tree_usage(str(tmp_path), math.inf, 10)[1] == 11
    size, files = tree_usage(str(tmp_path), 20_000, math.inf)
    assert size > 20_000
    assert files < 10


def test_what_does_not_exist_is_empty_and_removed(tmp_path: Path) -> None:
    """Neither raises."""
    missing = str(tmp_path / "missing")
    assert tree_usage(missing, 1, 1) == (0, 0)
    remove_tree(missing)
