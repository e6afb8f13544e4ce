"""The planted packages, with the manifest that ``planted.toml`` and the docstrings of their classes make."""

from __future__ import annotations

import ast
import atexit
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent / "planted"
USUAL = {"reward_range": [0.0, 1.0], "reference_policy": "healthy:SumsPolicy"}


@cache
def planted_packages() -> Path:
    """Return a folder with the packages, which this process removes at its end."""
    folder = Path(tempfile.mkdtemp(prefix="gem-planted-")).resolve()
    atexit.register(_remove, folder, os.getpid())
    shutil.copytree(HERE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    table = tomllib.loads((folder / "planted.toml").read_text(encoding="utf-8"))
    lines = ["schema = 1"]
    for name, entry in _entries(table):
        entry |= table["particulars"].get(name, {})
        place = entry["entry_point"]
        if "description" not in entry:
            entry["description"] = _docstring(folder / "planted_envs", place)
        for key in ("entry_point", "reference_policy"):
            entry[key] = entry[key] and f"planted_envs.{entry[key]}"
        lines += ["[[environment]]", *(f"{key} = {_toml(value)}" for key, value in entry.items() if value is not False)]
    (folder / "planted_envs" / "environments.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder


def _entries(table: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for module, names in table["healthy"].items():
        for name in names:
            yield name, {"id": f"healthy:{name}", "entry_point": f"{module}:{name}", **USUAL}
    for clause, names in table["defects"].items():
        module = f"defects.{clause.partition('.')[0]}"
        for name in names:
            yield name, {"id": f"defect:{name}", "entry_point": f"{module}:{name}", "tags": [clause], **USUAL}


def _docstring(package: Path, place: str) -> str:
    """Return the first paragraph of a class's docstring, read without an import, which would be a defect of some."""
    module, _, name = place.partition(":")
    tree = ast.parse(package.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
    nodes = (node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name)
    return " ".join((ast.get_docstring(next(nodes)) or "").partition("\n\n")[0].split())


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not a forked child that ends
        shutil.rmtree(folder, ignore_errors=True)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_toml(item)}' for key, item in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)
