"""ScienceWorld's simulator in Java processes that are kept small and used again: :class:`JavaSimulator`."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from importlib import import_module
from typing import Any

from gem.discovery.official import install_line
from gem.errors import NotSupportedError
from gem.fork_hooks import after_fork_in_child

__all__ = ["JavaSimulator", "borrow", "give_back", "task_names"]

_OPTIONS = (
    "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2",
)  # fmt: skip
"""A heap with a limit, one thread that collects garbage, and the quick compiler: some 200 MB instead of 2.7 GB.

The simulator walks through hash sets of things, so their order is that of the identity hash codes, which the virtual
machine draws anew for each object. With one code for all, a set has the order in which it was filled.
"""
_MOST_IDLE = 8
"""Processes that wait for the next environment; further ones end."""
_PATIENCE = 10.0
"""Seconds that a process has to end by itself."""

_lock = threading.Lock()
_idle: list[JavaSimulator] = []


class JavaSimulator:
    """A Java process with ScienceWorld's simulator; one environment at a time uses it.

    Raises:
        NotSupportedError: without the package ``scienceworld`` or without Java.
    """

    def __init__(self) -> None:
        java_gateway = _library("py4j.java_gateway")
        if shutil.which("java") is None:
            raise NotSupportedError(
                "ScienceWorld's simulator needs Java 8 or newer, and there is no program java on the PATH; on Debian "
                "and Ubuntu run: apt-get install default-jre-headless"
            )
        constants = _library("scienceworld.constants")
        port, self._process = java_gateway.launch_gateway(
            classpath=constants.JAR_PATH,
            die_on_exit=True,  # the process ends with this one, also where this one is killed
            cwd=constants.BASEPATH,
            javaopts=list(_OPTIONS),
            redirect_stderr=subprocess.DEVNULL,
            return_proc=True,
        )
        parameters = java_gateway.GatewayParameters(auto_field=True, port=port)
        self._gateway = java_gateway.JavaGateway(gateway_parameters=parameters)
        self._server = self._gateway.jvm.scienceworld.runtime.pythonapi.PythonInterface()
        self._owner = os.getpid()
        self._variations: dict[tuple[str, str], list[int]] = {}

    @property
    def usable(self) -> bool:
        """Whether the process runs and belongs to this one."""
        return self._owner == os.getpid() and self._process.poll() is None

    def variations(self, task: str, split: str) -> list[int]:
        """Return the variations of a task in a split; the first time, this loads the task."""
        found = self._variations.get((task, split))
        if found is None:
            self._server.load(task, 0, "", False)
            server = self._server
            ways = {
                "train": server.getVariationsTrain,
                "dev": server.getVariationsDev,
                "test": server.getVariationsTest,
            }
            found = self._variations[task, split] = [int(number) for number in ways[split]()]
        return found

    def load(self, task: str, variation: int, simplifications: str, walkthrough: bool = False) -> str:
        """Begin an episode; return what stands around the agent."""
        # The simulator's own reset would load the same again.
        self._server.load(task, variation, simplifications, walkthrough)
        return str(self._server.step("look around"))

    def simplifications(self) -> list[str]:
        """Return the names of all simplifications."""
        return ["easy", *str(self._server.getPossibleSimplifications()).split(", ")]

    def description(self) -> str:
        """Return the task in words."""
        return str(self._server.getTaskDescription())

    def walkthrough(self) -> list[str]:
        """Return the simulator's own solution; ``load`` must have asked for it."""
        return [str(action) for action in self._server.getGoldActionSequence()]

    def possible(self) -> list[str]:
        """Return all actions that are possible now; about 40 milliseconds."""
        return [str(action) for action in self._server.getValidActionObjectCombinations()]

    def step(self, action: str) -> tuple[str, int, bool]:
        """Carry out an action; return what the agent sees, the score (-100 … 100), and whether the task is over."""
        shown = str(self._server.step(action))
        score = round(100 * self._server.getScore())
        return shown, score, bool(self._server.getCompleted()) or score < 0

    def close(self) -> None:
        """End the process."""
        if self._owner != os.getpid():
            return
        try:
            self._gateway.shutdown()
        finally:
            self._process.stdin.close()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


def borrow() -> JavaSimulator:
    """Return an idle simulator, or a new one."""
    while True:
        with _lock:
            simulator = _idle.pop() if _idle else None
        if simulator is None:
            return JavaSimulator()
        if simulator.usable:
            return simulator


def give_back(simulator: JavaSimulator) -> None:
    """Keep a simulator for the next environment, or end it where enough are idle."""
    if not simulator.usable:
        return
    with _lock:
        kept = len(_idle) < _MOST_IDLE
        if kept:
            _idle.append(simulator)
    if not kept:
        simulator.close()


def task_names() -> dict[str, str]:
    """Return ScienceWorld's number of each task, such as ``"1-1"``, with its name."""
    return dict(_library("scienceworld.constants").ID2TASK)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        line = install_line("'gem-envs-lab[scienceworld]'")
        raise NotSupportedError(f"lab:ScienceWorld-v0 needs the package scienceworld; run: {line}") from error


def _forget() -> None:
    # The processes belong to the parent.
    global _lock
    _lock = threading.Lock()
    _idle.clear()


after_fork_in_child(_forget)
