"""Tables of wordings and other data that lie as files beside the module that uses them: :func:`read_table`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

__all__ = ["read_table"]


def read_table(module_file: str, name: str) -> Any:
    """Return the table in the file ``name`` beside a module.

    Texts are best kept as JSON, which is read many times faster; patterns as TOML, whose literal strings need no
    escapes.

    Args:
        module_file: the ``__file__`` of the module.
        name: its path from there, which ends with ``.json`` or ``.toml``.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not of the format that its name says.
    """
    text = (Path(module_file).parent / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        from json import loads

        return loads(text)
    if sys.version_info >= (3, 11):
        from tomllib import loads as loads_toml
    else:
        from tomli import loads as loads_toml
    return loads_toml(text)
