"""The environment of tasks that are made from a package on first use: :class:`SwePackageEnv`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gem.arguments import choice, integer, string
from gem.errors import ArgumentError
from gem_envs_swe import __version__
from gem_envs_swe.env import SweEnv
from gem_envs_swe.row import KINDS
from gem_terminal.engines import Engine, engine_by_name
from gem_terminal.engines.exclusive import exclusive
from gem_terminal.episodes.progress import showing

__all__ = ["SwePackageEnv", "sets_folder"]


def sets_folder() -> Path:
    """Return the folder of this user's made sets, which the variable ``GEM_SWE_SETS`` overrides."""
    if folder := os.environ.get("GEM_SWE_SETS"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gem" / "swe"


class SwePackageEnv(SweEnv):
    """Tasks on the repository of a package, which are made and proved on first use and then kept.

    The making takes some CPU seconds a task, and needs the package index of the user's pip. The set is kept in
    :func:`sets_folder` under its arguments; the same ones give the same tasks, also in another process.

    Args:
        package: a requirement with a version, such as ``more-itertools==10.8.0``, or the path of a source archive.
        tasks: how many tasks to make; there may be fewer.
        set_seed: of the making; that of episodes is an argument of ``reset``.
        kinds: the kinds of tasks to make; None for all that can be made.
        engine: see :class:`~gem_envs_swe.SweEnv`; it also makes and proves the tasks.
        level: this and the further arguments are those of :class:`~gem_envs_swe.SweEnv`.

    Raises:
        ArgumentError: if an argument is invalid.
        SweError: if the package cannot become tasks.
        EngineError: if no engine works, or the image cannot be built.
    """

    def __init__(
        self,
        package: str | None = None,
        tasks: int = 20,
        set_seed: int = 0,
        kinds: Sequence[str] | None = None,
        level: int | None = None,
        engine: str | Engine = "auto",
        max_turns: int = 50,
        command_seconds: float = 30.0,
        episode_seconds: float | None = None,
        output: int = 16 << 10,
        reward: str = "all",
        pass_to_pass: int | None = 50,
        verify_seconds: float = 600.0,
        run_tests: bool = True,
        instructions: bool = True,
        recordings: str | Path | bool | None = None,
        warm: int = 1,
    ) -> None:
        if package is None:
            raise ArgumentError("package must name a package, as in gem.make('swe:Package-v0', package='toolz==1.0.0')")
        used = engine if isinstance(engine, Engine) else engine_by_name(engine)
        folder = _made(
            string("package", package),
            integer("tasks", tasks, minimum=1, maximum=100_000),
            integer("set_seed", set_seed, minimum=0),
            None if kinds is None else tuple(choice("kinds", kind, KINDS) for kind in kinds),
            used,
        )
        super().__init__(
            folder, level=level, engine=used, max_turns=max_turns, command_seconds=command_seconds,
            episode_seconds=episode_seconds, output=output, reward=reward, pass_to_pass=pass_to_pass,
            verify_seconds=verify_seconds, run_tests=run_tests, instructions=instructions, recordings=recordings,
            warm=warm,
        )  # fmt: skip


def _made(package: str, tasks: int, seed: int, kinds: tuple[str, ...] | None, engine: Engine) -> Path:
    """Return the folder of a set, made if it is missing."""
    from gem_envs_swe.making.kinds import MAKERS
    from gem_envs_swe.making.set_maker import MakingOptions, make_set

    asked = hashlib.sha256(repr((package, tasks, seed, kinds, __version__)).encode(errors="replace")).hexdigest()[:12]
    name = re.sub(r"[^\w.=-]+", "-", Path(package).name)[:80]
    folder = sets_folder() / f"{name}-{asked}"
    if (folder / "set.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(folder.parent / f".{folder.name}.lock", None):
        if not (folder / "set.json").is_file():  # the last holder of the lock may have made it
            shutil.rmtree(folder, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
                options = MakingOptions(tasks=tasks, seed=seed, kinds=kinds or tuple(MAKERS))
                with showing(f"tasks of {package}") as tell:
                    make_set(package, Path(scratch) / "set", options, engine, tell)
                (Path(scratch) / "set").rename(folder)
    return folder
