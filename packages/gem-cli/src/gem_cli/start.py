"""The start of the ``gem`` command, which says in one sentence what is wrong with a broken installation."""

from __future__ import annotations

import sys

__all__ = ["run"]


def run() -> None:
    """Run the command, or exit with one sentence if gem-core is missing or its files are overwritten."""
    try:
        from gem_command import clash, damage
    except ModuleNotFoundError:
        sys.exit("Error: the gem command needs gem-core; run: pip install gem-core")
    broken = damage()
    if broken is not None:
        sys.exit(f"Error: {broken}")
    sentence = clash()
    if sentence is not None:
        import warnings

        sys.stderr.write(f"Warning: {sentence}\n")
        warnings.filterwarnings("ignore", message="gem-llm and gem-core")  # the import below would repeat it
    from gem_cli.main import run as run_command

    run_command()
