"""The engines, images and markers of gem-terminal's tests, a small set of tasks, and the modules beside this file."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def _loaded(name: str, path: Path) -> ModuleType:
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_shared = _loaded("gem_terminal_tests_conftest", Path(__file__).parents[2] / "gem-terminal" / "tests" / "conftest.py")
globals().update({name: value for name, value in vars(_shared).items() if not name.startswith("__")})


@pytest.fixture(scope="session")
def tally(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tasks on a package of one module."""
    module = _loaded("gem_envs_swe_tally", Path(__file__).with_name("tally.py"))
    folder: Path = module.write_tally(tmp_path_factory.mktemp("tally"))
    return folder
