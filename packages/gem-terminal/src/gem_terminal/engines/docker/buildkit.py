"""Builds with BuildKit, through the ``docker`` program: :func:`has_buildkit`, :func:`build`.

The SDK of Docker speaks only to the engine's classic builder, which refuses ``RUN --mount`` and ``COPY --chmod``,
builds one stage after another, and is deprecated.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from threading import Timer

from gem_terminal.engines.base import Progress, ProgressStage, report_stage
from gem_terminal.errors import EngineError
from gem_terminal.plain_text import plain_text
from gem_terminal.task import Image

__all__ = ["build", "has_buildkit"]

_STEP = re.compile(r"#\d+ \[(?:\S+ )?(\d+)/(\d+)\] (.*)")
_NO_BASE = re.compile(r"failed to resolve source metadata|load metadata|pull access denied|failed to do request")
_LOCAL = "unix:///var/run/docker.sock"
"""The SDK's own default."""
_ANSWERS_IN = 30.0
"""Seconds."""
_SHOWN = 3
"""Lines of the output of a build that failed."""


def has_buildkit(url: str | None) -> bool:
    """Return whether the ``docker`` program has its ``buildx`` plugin, and builds in the engine itself.

    A builder of another kind, such as one in a container of its own, knows none of the engine's images.

    Args:
        url: the address of the engine; None for that of the environment.
    """
    return _has_buildkit(url, os.environ.get("DOCKER_CONFIG"), os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _has_buildkit(url: str | None, config: str | None, path: str | None) -> bool:
    if shutil.which("docker") is None:
        return False
    try:
        asked = subprocess.run(
            ["docker", "buildx", "inspect"],  # noqa: S607  # the user's program
            capture_output=True, text=True, check=False, timeout=_ANSWERS_IN, env=_environment(url),
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0 and re.search(r"^Driver:\s+docker$", asked.stdout, re.MULTILINE) is not None


def build(
    url: str | None,
    image: Image,
    dockerfile: str,
    tag: str,
    labels: Mapping[str, str],
    arguments: Mapping[str, str],
    progress: Progress | None,
) -> None:
    """Build an image.

    Args:
        url: the address of the engine; None for that of the environment.
        image: the folder, and the time limit.
        dockerfile: its path, in the folder or absolute.
        tag: the name of the image.
        labels: of the image.
        arguments: the build arguments.
        progress: receives the steps.

    Raises:
        EngineError: if the build fails or takes too long; the message ends with its last output.
    """
    assert image.folder is not None
    words = ["docker", "buildx", "build", "--progress=plain", "--load", "--tag", tag]
    words += ["--file", os.path.join(image.folder, dockerfile)]  # noqa: PTH118  # an absolute one replaces the folder
    for name, value in labels.items():
        words += ["--label", f"{name}={value}"]
    for name, value in arguments.items():
        words += ["--build-arg", f"{name}={value}"]
    said: list[str] = []
    with subprocess.Popen(  # noqa: S603  # the user's program, without a shell
        [*words, str(image.folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=_environment(url),
    ) as running:  # fmt: skip
        timer = Timer(image.build_seconds, running.kill)
        timer.start()
        try:
            assert running.stdout is not None
            for raw in running.stdout:
                line = plain_text(raw.decode(errors="replace")).strip()
                if (step := _STEP.match(line)) is not None:
                    report_stage(progress, ProgressStage(step[3], int(step[1]), int(step[2])))
                said = [*said[1 - _SHOWN :], line] if line else said
        except BaseException:
            running.kill()
            raise
        finally:
            in_time = timer.is_alive()
            timer.cancel()
    if running.returncode == 0:
        return
    failed = f"the image of {image.folder} cannot be built"
    if not in_time:
        failed += f" in the {image.build_seconds:g} seconds that its task grants; the last output"
    hint = "; see: gem terminal base --help" if _NO_BASE.search(" ".join(said)) else ""
    raise EngineError(f"{failed}: {' | '.join(said)}{hint}")


def _environment(url: str | None) -> dict[str, str]:
    """Return the environment in which the program uses the SDK's engine, and not that of the user's context."""
    return {**os.environ, "DOCKER_HOST": url or os.environ.get("DOCKER_HOST") or _LOCAL}
