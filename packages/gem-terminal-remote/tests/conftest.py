"""The engines, images and markers of gem-terminal's tests: those of engines on other machines have them too."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_spec = spec_from_file_location(
    "gem_terminal_tests_conftest", Path(__file__).parents[2] / "gem-terminal" / "tests" / "conftest.py"
)
assert _spec is not None
assert _spec.loader is not None
_shared = module_from_spec(_spec)
_spec.loader.exec_module(_shared)
globals().update({name: value for name, value in vars(_shared).items() if not name.startswith("__")})
