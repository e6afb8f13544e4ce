"""The function of the original GEM that ran Python: :func:`run_python`."""

from __future__ import annotations

from dataclasses import replace

from gem.arguments import choice
from gem_tools.sandbox.sandbox import default_sandbox

__all__ = ["run_python"]

_MODES = {"none": "auto", "bwrap": "required"}


def run_python(
    code: str, sandbox_type: str = "none", stdin: str | None = None, timeout: float = 10
) -> tuple[bool, str, str]:
    """Run a program like the original's ``gem.utils.sandbox.run_python``, but in a sandbox with a time limit.

    Args:
        code: the program.
        sandbox_type: ``"none"`` uses a jail if one is available; ``"bwrap"`` requires a jail.
        stdin: the standard input.
        timeout: the time limit in seconds.

    Returns:
        Whether the program succeeded, its output, and its error or a note about the time limit.
    """
    sandbox = default_sandbox(_MODES[choice("sandbox_type", sandbox_type, tuple(_MODES))])
    done = sandbox.run(code, stdin=stdin or "", limits=replace(sandbox.limits, seconds=timeout))
    error = done.error()
    if done.timed_out:
        error = f"{error}\nExecution timed out after {timeout:g} seconds.".lstrip("\n")
    return done.ok, done.stdout, error
