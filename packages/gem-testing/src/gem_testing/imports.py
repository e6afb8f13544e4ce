"""Which libraries the files of a package import, read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["ImportStatement", "imports_of"]


class ImportStatement(NamedTuple):
    """One import statement of one file."""

    module: str
    """The module, with its packages."""
    file: str
    """Path below the package."""
    line: int
    late: bool
    """Whether it runs only when a function is called."""

    @property
    def top(self) -> str:
        """The top-level module."""
        return self.module.partition(".")[0]


def imports_of(package: Path) -> Iterator[ImportStatement]:
    """Yield the absolute imports in a package's files.

    It leaves out imports for type checkers alone and imports inside ``try``, which may fail.
    """
    for file in sorted(package.rglob("*.py")):
        status = file.stat()
        name = str(file.relative_to(package.parent))
        yield from _imports_of_file(file, name, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)  # every environment of a package asks for the same files
def _imports_of_file(file: Path, name: str, _changed: int, _size: int) -> tuple[ImportStatement, ...]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # importing it reports the error
        return ()
    return tuple(_imports_in(tree.body, name, late=False))


def _imports_in(body: list[ast.stmt], file: str, late: bool) -> Iterator[ImportStatement]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (ImportStatement(alias.name, file, node.lineno, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                yield ImportStatement(node.module, file, node.lineno, late)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _imports_in(node.body, file, late=True)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _imports_in(node.orelse, file, late)
        elif isinstance(node, ast.Try) and any(_may_fail(handler) for handler in node.handlers):
            yield from _imports_in([*node.orelse, *node.finalbody], file, late)
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from _imports_in([n for n in getattr(node, name, []) if isinstance(n, ast.stmt)], file, late)


def _may_fail(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or any(
        name in ast.unparse(handler.type) for name in ("ImportError", "ModuleNotFoundError", "Exception")
    )
