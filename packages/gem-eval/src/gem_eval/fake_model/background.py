"""A fake model outside the caller's event loop: in a thread, or in a process that can be killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Sequence
from typing import Any

from gem.errors import GemError
from gem_eval.fake_model.server import FakeModel

__all__ = ["FakeModelProcess", "FakeModelThread"]


class FakeModelThread:
    """Runs a :class:`FakeModel` in a thread with an event loop of its own.

    ::

        with FakeModelThread(FakeModel("constant:yes")) as model:
            ...  # requests to model.url
    """

    def __init__(self, model: FakeModel) -> None:
        self.model = model
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="fake-model", daemon=True)

    @property
    def url(self) -> str:
        """As :attr:`FakeModel.url`."""
        return self.model.url

    @property
    def origin(self) -> str:
        """As :attr:`FakeModel.origin`."""
        return self.model.origin

    def stats(self) -> dict[str, Any]:
        """Return the counts of the server."""
        return self.model.stats()

    def __enter__(self) -> FakeModelThread:
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        try:
            await self.model.start()
        except BaseException as error:  # raised in the thread that waits for the start
            self._error = error
            self._started.set()
            return
        self._started.set()
        await self._ending.wait()
        self.model.stop()
        await self.model.closed()


class FakeModelProcess:
    """Runs ``gem fake-model`` in a process of its own, for load and for what happens when a server dies.

    The process ends with this one, however that ends: its standard input is a pipe from here.

    Args:
        arguments: of the command, such as ``["--policy", "constant:yes"]``.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "gem", "fake-model", "--port", "0", "--until-eof", *arguments, "--json"]
        self.process = subprocess.Popen(  # noqa: S603  # this Python and this package
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, errors = self.process.communicate()
            raise GemError(f"gem fake-model did not start: {errors.strip()}")
        self.url: str = json.loads(line)["url"]
        self.origin = self.url.removesuffix("/v1")

    def stats(self) -> dict[str, Any]:
        """Return the counts of the server, read from ``/stats``."""
        with urllib.request.urlopen(f"{self.origin}/stats") as reply:  # noqa: S310  # our own server
            counts: dict[str, Any] = json.load(reply)
        return counts

    def kill(self) -> None:
        """End the process at once (SIGKILL); its connections break off, and later ones are refused."""
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> FakeModelProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
