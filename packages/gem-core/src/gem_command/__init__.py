"""What is wrong with the folder ``gem``, told from outside of it.

The original GEM (the distribution gem-llm) installs a folder ``gem`` as well. Each overwrites files of the other, and
uninstalling one takes files of the other with it. The command must be able to report this, whatever is left of ``gem``.
"""

from __future__ import annotations

import os

__all__ = ["clash", "damage"]

# Not pathlib, whose import would cost more than the rest of the start.
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gem")  # noqa: PTH100, PTH118, PTH120
_REINSTALL = "pip install --force-reinstall --no-deps gem-core"


def clash(folder: str = _FOLDER) -> str | None:
    """Return one sentence about files of gem-llm in gem's folder, with the remedy; None if there are none."""
    if not os.path.isfile(os.path.join(folder, "envs", "registration.py")):  # noqa: PTH113, PTH118
        return None
    return (
        f"gem-llm and gem-core have both installed files into {folder}, and neither works reliably; "
        f"run: pip uninstall -y gem-llm && {_REINSTALL}"
    )


def damage() -> str | None:
    """Return one sentence if files of gem-core are missing or overwritten, with the remedy; None if they are not."""
    try:
        # The two files that both distributions install.
        for name, ours in (("__init__.py", b"from gem import migration"), ("core.py", b"class Wrapper(")):
            with open(os.path.join(_FOLDER, name), "rb") as file:  # noqa: PTH118, PTH123
                if ours not in file.read():
                    raise OSError
    except OSError:
        missing = f"files of gem-core are missing from {_FOLDER}, as after 'pip uninstall gem-llm'; run: {_REINSTALL}"
        return clash() or missing
    return None
