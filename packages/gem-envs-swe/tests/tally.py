"""A set of two tasks on a package of one module, written by hand: :func:`write_tally`."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from gem_envs_swe.making.patches import diff_of
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import IMAGE, REPOSITORY, SweSet, write_set

# The first command is that of the bundled tasks, so that its layer is theirs.
DOCKERFILE = f"""FROM debian:bookworm-slim
RUN apt-get update \\
 && apt-get install -y --no-install-recommends \\
      bzip2 ca-certificates curl file gcc git less libc6-dev make procps python3 sqlite3 unzip vim-tiny xz-utils zip \\
 && rm -rf /var/lib/apt/lists/* \\
 && useradd --create-home --shell /bin/bash agent
COPY pytest /usr/local/lib/python3.11/dist-packages
RUN cd /usr/local/lib/python3.11/dist-packages && python3 -m compileall -q pytest _pytest pluggy iniconfig packaging
COPY repo {REPOSITORY}
RUN chown -R agent:agent {REPOSITORY}
WORKDIR {REPOSITORY}
USER agent
"""
SOURCE = '''"""Counting."""

import math


def chunks(items, size):
    """Cut a list into lists of a size; the last may be shorter."""
    if size < 1:
        raise ValueError("size must be positive")
    return [items[at : at + size] for at in range(0, len(items), size)]


def average(values):
    """Return the mean of some numbers, 0.0 of none."""
    if not values:
        return 0.0
    return math.fsum(values) / len(values)


class Tally:
    """Counts names."""

    def __init__(self):
        self.counts = {}

    def add(self, name, number=1):
        """Count a name some times more."""
        self.counts[name] = self.counts.get(name, 0) + number
        return self.counts[name]

    def most(self):
        """Return the name that was counted most."""
        return max(self.counts, key=self.counts.get)
'''
VISIBLE = """import unittest

import pytest

from tally.counting import Tally, average, chunks


def test_chunks_of_nothing():
    assert chunks([], 3) == []


def test_size():
    with pytest.raises(ValueError):
        chunks([1], 0)


class TestTally(unittest.TestCase):
    def test_add(self):
        self.assertEqual(Tally().add("a", 2), 2)
"""
HIDDEN = """

def test_chunks():
    assert chunks([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]


@pytest.mark.parametrize("size", [1, 3])
def test_chunk_sizes(size):
    assert [len(each) for each in chunks(list(range(6)), size)] == [size] * (6 // size)


def test_average():
    assert average([1, 2, 6]) == 3.0
    assert average([]) == 0.0


class TestMost(unittest.TestCase):
    def test_most(self):
        tally = Tally()
        tally.add("a")
        tally.add("b", 3)
        tally.add("a")
        self.assertEqual(tally.most(), "b")
"""
TEST_FILE, MODULE = "tests/test_counting.py", "tally/counting.py"
FILES = {
    "setup.py": "from setuptools import setup\nsetup(name='tally')\n",
    "pyproject.toml": "[project]\nname = 'tally'\nversion = '1'\n",
    "tally/__init__.py": "",
    MODULE: SOURCE,
    TEST_FILE: VISIBLE,
}
KEPT = (
    f"{TEST_FILE}::test_chunks_of_nothing",
    f"{TEST_FILE}::test_size",
    f"{TEST_FILE}::TestTally::test_add",
)
TESTS = {
    "chunks": (f"{TEST_FILE}::test_chunks", f"{TEST_FILE}::test_chunk_sizes[1]", f"{TEST_FILE}::test_chunk_sizes[3]"),
    "average": (f"{TEST_FILE}::test_average",),
    "most": (f"{TEST_FILE}::TestMost::test_most",),
}


def broken_row(name: str, kind: str, old: str, new: str) -> SweRow:
    """Return the task in which a part of the source was replaced."""
    assert SOURCE.count(old) == 1
    broken = SOURCE.replace(old, new)
    return SweRow(
        instance_id=f"tally-{name}",
        repo="tally",
        problem_statement=f"{name} of tally.counting gives wrong results.",
        patch=diff_of({MODULE: broken}, {MODULE: SOURCE}),
        test_patch=diff_of({TEST_FILE: VISIBLE}, {TEST_FILE: VISIBLE + HIDDEN}),
        break_patch=diff_of({MODULE: SOURCE}, {MODULE: broken}),
        FAIL_TO_PASS=TESTS[name],
        PASS_TO_PASS=(*KEPT, *(test for other, tests in TESTS.items() if other != name for test in tests)),
        kind=kind,
    )


def write_tally(folder: Path) -> Path:
    """Write the set."""
    context = folder / IMAGE
    for name, content in FILES.items():
        path = context / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (context / "Dockerfile").write_text(DOCKERFILE)
    library = context / "pytest"
    library.mkdir()
    for module in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"):
        found = importlib.util.find_spec(module)
        assert found is not None
        assert found.origin is not None
        if found.submodule_search_locations is None:
            shutil.copy(found.origin, library)
        else:
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(found.origin).parent, library / module, ignore=skipped)
    rows = [
        broken_row("chunks", "bug", "range(0, len(items), size)", "range(0, len(items) - 1, size)"),
        broken_row("most", "feature", "return max(self.counts, key=self.counts.get)", "raise NotImplementedError"),
    ]
    described = SweSet(
        package="tally", version="1", archive_sha256="0" * 64, python="3.11", seed=0, maker="0.1.0",
        test_command=("python3", "-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:doctest", "-q"),
        test_files=(TEST_FILE,), tests=8, tasks=len(rows),
    )  # fmt: skip
    write_set(folder, described, rows)
    return folder
