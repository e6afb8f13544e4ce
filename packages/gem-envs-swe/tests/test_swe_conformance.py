"""The conformance kit on a small set, in containers of the engine that starts them quickest."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
from gem_testing import EnvConformance

FOLDER = Path(tempfile.gettempdir()) / f"gem-envs-swe-{os.getpid()}"
"""Where the set lies during the tests: collection needs its name, and no set."""
TASKS = gem.spec("swe:Folder-v0").with_kwargs({"path": str(FOLDER), "max_turns": 3})


@pytest.fixture(scope="class")
def tally_folder(tally: Path) -> Iterator[None]:
    """The set, in the folder that the environments name."""
    shutil.copytree(tally, FOLDER)
    yield
    shutil.rmtree(FOLDER)


@pytest.mark.slow(reason="the first clause builds the image of the set")
@pytest.mark.usefixtures("engine_variables", "tally_folder")
class TestConformance(EnvConformance):
    """One clause; all of them by night, since every clause plays episodes of its own."""

    environments = TASKS
    clauses = ("info.json",)


@pytest.mark.nightly
@pytest.mark.usefixtures("engine_variables", "tally_folder")
class TestWholeConformance(EnvConformance):
    environments = TASKS
