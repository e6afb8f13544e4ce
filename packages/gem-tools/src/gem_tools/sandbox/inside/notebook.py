"""What a notebook does around a program: show the last value, import common names, hand over figures.

A prelude asks for it in its first line, for example ``# gem: display imports``; see :func:`options_line`.
"""

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import io
import math
import os
import symtable
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "DISPLAY",
    "FIGURES",
    "FIGURE_MARK",
    "IMPORTS",
    "LARGEST_FIGURES",
    "MISSING_IMPORTS",
    "execute",
    "options_line",
    "print_figures",
    "split_options",
]

DISPLAY, FIGURES, MISSING_IMPORTS = "display", "figures", "imports"
"""The options: show the value of the last expression; print the figures of matplotlib; import common names."""

_HEAD = "# gem:"

FIGURE_MARK = "\x1egem-figure "
"""Begins a figure in the standard output; base64 of a PNG file and another separator follow."""
LARGEST_FIGURES = 512 << 10
"""The largest size of the figures of one call, in characters of base64."""
_MOST_FIGURES = 8
_MOST_PIXELS = 1_500_000
_RESOLUTION = 100.0
"""Dots per inch of a figure, unless it would have too many."""

_MODULES = (
    "bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq", "itertools",
    "json", "math", "numpy", "operator", "os", "pandas", "random", "re", "scipy", "statistics", "string", "sympy",
    "sys", "time",
)  # fmt: skip

IMPORTS = {
    **{name: f"import {name}" for name in _MODULES},
    "Counter": "from collections import Counter",
    "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction",
    "combinations": "from itertools import combinations",
    "defaultdict": "from collections import defaultdict",
    "deque": "from collections import deque",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "permutations": "from itertools import permutations",
    "plt": "import matplotlib.pyplot as plt",
    "product": "from itertools import product",
    "sp": "import sympy as sp",
}
"""A name that agents use without importing it → the import that defines it."""


def options_line(options: Iterable[str]) -> str:
    """Return the first line of a prelude that asks for these options; unknown words have no effect."""
    return f"{_HEAD} {' '.join(options)}\n"


def split_options(prelude: str) -> tuple[frozenset[str], str]:
    """Return the options of a prelude, and the rest of it."""
    if not prelude.startswith(_HEAD):
        return frozenset(), prelude
    line, _, rest = prelude.partition("\n")
    return frozenset(line[len(_HEAD) :].split()), rest


def execute(main: types.ModuleType, code: str, name: str, options: frozenset[str]) -> None:
    """Execute code in a module, as :mod:`.script` does, with these options.

    Args:
        main: the module.
        code: the code.
        name: its name in tracebacks.
        options: what :func:`split_options` returned.
    """
    if MISSING_IMPORTS in options:
        _add_imports(main, code)
    if FIGURES in options:
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
    if DISPLAY not in options:
        exec(compile(code, name, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - its purpose
        return
    tree = ast.parse(code, name)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not code.rstrip().endswith(";"):
        tree.body.pop()
    else:
        last = None
    exec(compile(tree, name, "exec", dont_inherit=True), main.__dict__)  # noqa: S102
    if last is not None:
        # The mode of the interactive interpreter, which shows a value by sys.displayhook.
        exec(compile(ast.Interactive([last]), name, "single", dont_inherit=True), main.__dict__)  # noqa: S102


def _add_imports(main: types.ModuleType, code: str) -> None:
    """Import the names of ``IMPORTS`` that the code uses and that neither it nor the module defines."""
    if not any(name in code for name in IMPORTS):
        return
    try:
        wanted = sorted(_undefined(code) & IMPORTS.keys())
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the execution reports it
        return
    for name in wanted:
        if name not in main.__dict__ and not hasattr(builtins, name):
            with contextlib.suppress(Exception):  # a library that is not there: the program says so
                exec(IMPORTS[name], main.__dict__)  # noqa: S102


def _undefined(code: str) -> set[str]:
    """Return the global names that code reads and never assigns at its top level."""
    top = symtable.symtable(code, "<python>", "exec")
    defined = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    read: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        read.update(
            symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()
        )
    return read - defined


def print_figures() -> None:
    """Write the open figures of matplotlib to the standard output, and close them."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return
    try:
        numbers = plots.get_fignums()
        for text in _drawn([plots.figure(number) for number in numbers[:_MOST_FIGURES]], len(numbers)):
            _write(text)
    except Exception as error:
        _write(f"[the figures could not be drawn: {type(error).__name__}]\n")
    finally:
        with contextlib.suppress(Exception):
            plots.close("all")


def _drawn(figures: list[object], count: int) -> Iterator[str]:
    room = LARGEST_FIGURES
    for number, figure in enumerate(figures, start=1):
        try:
            picture = base64.b64encode(_png(figure)).decode()
        except Exception as error:
            yield f"[figure {number} could not be drawn: {type(error).__name__}: {str(error)[:200]}]\n"
            continue
        if len(picture) > room:
            yield f"[figure {number} was left out: it is too large]\n"
            continue
        room -= len(picture)
        yield f"{FIGURE_MARK}{picture}\x1e\n"
    if count > len(figures):
        yield f"[{count - len(figures)} more figures were left out]\n"


def _png(figure: object) -> bytes:
    width, height = figure.get_size_inches()  # type: ignore[attr-defined]
    resolution = min(_RESOLUTION, math.sqrt(_MOST_PIXELS / max(width * height, 1e-9)))
    file = io.BytesIO()
    save: Callable[..., None] = figure.savefig  # type: ignore[attr-defined]
    save(file, format="png", dpi=resolution)
    return file.getvalue()


def _write(text: str) -> None:
    """Write to the descriptor itself: the program may have closed or replaced Python's stream."""
    data = text.encode(errors="backslashreplace")
    while data:
        data = data[os.write(1, data) :]
