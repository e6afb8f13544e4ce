"""Hidden tests of what the text of a package must look like: :func:`structure_test`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from gem_envs_swe.making.baseline import Baseline

__all__ = ["hidden_path", "structure_test"]

_NAMES = '''\
import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[{depth}]


def test_gone_names():
    """What was to be removed is neither defined nor used in the package."""
    for path in {paths!r}:
        names = set()
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            names |= {{getattr(node, field, None) for field in ("id", "attr", "name", "arg", "asname")}}
            if isinstance(node, ast.Constant):
                names.add(str(node.value))
        assert names.isdisjoint({gone!r}), path
'''


def hidden_path(baseline: Baseline, name: str) -> str:
    """Return the path of a further test file, beside most of the package's own tests."""
    folders = Counter(str(PurePosixPath(test.partition("::")[0]).parent) for test in sorted(baseline.stable))
    return str(PurePosixPath(folders.most_common(1)[0][0]) / name)


def structure_test(baseline: Baseline, paths: Iterable[str], gone: Iterable[str]) -> tuple[dict[str, str], str]:
    """Return a hidden test file, path → text, and its one test: that some names occur in no file of ``paths``."""
    path = hidden_path(baseline, "test_structure_of_the_package.py")
    depth = len(PurePosixPath(path).parts) - 1
    text = _NAMES.format(depth=depth, paths=sorted(paths), gone=sorted(gone))
    return {path: text}, f"{path}::test_gone_names"
