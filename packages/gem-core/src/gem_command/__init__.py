"""The start of the ``gem`` command, outside the folder ``gem``.

The original GEM (the distribution gem-llm) installs a folder ``gem`` as well. Each overwrites files of the other, and
uninstalling one takes files of the other with it. The command must be able to report this, whatever is left of ``gem``.
"""

from __future__ import annotations

import os
import sys

__all__ = ["clash", "run"]

# Not pathlib, whose import would cost more than the rest of the start.
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gem")  # noqa: PTH100, PTH118, PTH120
_REINSTALL = "pip install --force-reinstall --no-deps gem-core"


def clash(folder: str) -> str | None:
    """Return one sentence about files of gem-llm in gem's folder, with the remedy; None if there are none."""
    if not os.path.isfile(os.path.join(folder, "envs", "registration.py")):  # noqa: PTH113, PTH118
        return None
    return (
        f"gem-llm and gem-core have both installed files into {folder}, and neither works reliably; "
        f"run: pip uninstall -y gem-llm && {_REINSTALL}"
    )


def run() -> None:
    """Run the command, or exit with one sentence if files of gem-core are missing or overwritten."""
    sentence = clash(_FOLDER)
    if not _intact():
        missing = f"files of gem-core are missing from {_FOLDER}, as after 'pip uninstall gem-llm'; run: {_REINSTALL}"
        sys.exit(f"Error: {sentence or missing}")
    if sentence is not None:
        import warnings

        sys.stderr.write(f"Warning: {sentence}\n")
        warnings.filterwarnings("ignore", message="gem-llm and gem-core")  # the import below would repeat it
    from gem_cli.main import run as run_command

    run_command()


def _intact() -> bool:
    """Return whether the two files that both distributions install are those of gem-core."""
    try:
        for name, ours in (("__init__.py", b"from gem import migration"), ("core.py", b"class Wrapper(")):
            with open(os.path.join(_FOLDER, name), "rb") as file:  # noqa: PTH118, PTH123
                if ours not in file.read():
                    return False
    except OSError:
        return False
    return True
