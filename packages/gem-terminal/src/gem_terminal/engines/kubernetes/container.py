"""A pod as a container: :class:`Pod`, and what goes wrong with calls of the API: :func:`asking`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from threading import Thread
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Channel, Container
from gem_terminal.engines.kubernetes.channel import ExecChannel, command_line
from gem_terminal.engines.kubernetes.pods import CONTAINER
from gem_terminal.errors import EngineError

if TYPE_CHECKING:
    from kubernetes.client import CoreV1Api

__all__ = ["BACKOFF", "CALL_SECONDS", "RETRIES", "Pod", "asking", "said"]

CALL_SECONDS = 30.0
"""What a call may take."""

RETRIES = 4
BACKOFF = 0.2
"""Seconds before the first retry; each further one waits twice as long."""

_FILE_SECONDS = 600.0
_QUIET_SECONDS = 60.0

# $1: the folder, $2: bytes of the archive. tar would read until the input is closed, which version 4 of the protocol
# cannot do, so head ends it.
_UNPACK = r"""
if command -v tar >/dev/null; then head -c "$2" | tar -x -p -f - --numeric-owner -C "$1"
elif command -v python3 >/dev/null; then head -c "$2" | python3 -I -c '
import sys, tarfile
safely = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
tarfile.open(fileobj=sys.stdin.buffer, mode="r|").extractall(sys.argv[1], **safely)' "$1"
else echo "the image has neither tar nor python3"; exit 1
fi
"""

# $1: the folder that it is in, $2: its name, $3: bytes that may come. 44: there is no such thing; 45: no program.
_PACK = r"""
cd -- "$1" 2>/dev/null || exit 44
[ -e "./$2" ] || [ -L "./$2" ] || exit 44
command -v tar >/dev/null || command -v python3 >/dev/null || exit 45
if command -v tar >/dev/null; then tar -c -f - --numeric-owner -- "$2" 2>/dev/null
else python3 -I -c '
import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive: archive.add(sys.argv[1])' "$2" 2>/dev/null
fi | head -c "$3"
"""
_MISSING, _NO_PROGRAM = 44, 45
_END_OF_ARCHIVE = bytes(1024)


class Pod(Container):
    """One that runs, or is on its way.

    Args:
        api: the calls that concern pods.
        namespace: that it is in.
        name: of the pod.
    """

    def __init__(self, api: CoreV1Api, namespace: str, name: str) -> None:
        self.id = name
        self._api = api
        self._namespace = namespace
        self._removed = False

    def open(
        self,
        command: Iterable[str],
        *,
        terminal: bool = False,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Channel:
        return self._execute(
            command_line(command, user=user, environment=environment, workdir=workdir), terminal=terminal
        )

    def put(self, archive: bytes, folder: str) -> None:
        done = self.run(
            ("/bin/sh", "-c", _UNPACK, "sh", folder, str(len(archive))), seconds=_FILE_SECONDS, stdin=archive
        )
        if done.exit_code != 0:
            raise EngineError(f"pod {self.id} takes no files: {done.output[-300:].decode(errors='replace').strip()}")

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        place = PurePosixPath("/") / path
        channel = self.open(("/bin/sh", "-c", _PACK, "sh", str(place.parent), place.name or ".", str(most + 1)))
        archive, deadline = bytearray(), time.monotonic() + _FILE_SECONDS
        try:
            while (data := channel.read(_QUIET_SECONDS)) is not None:
                if time.monotonic() > deadline:  # the container's own tar may write for ever
                    raise EngineError(f"pod {self.id} does not give {path} in {_FILE_SECONDS:g} seconds")
                if not data:
                    raise EngineError(f"pod {self.id} gives no more of {path} for {_QUIET_SECONDS:g} seconds")
                archive += data
                if len(archive) > most:
                    raise EngineError(f"{path} of pod {self.id} is larger than {most} bytes")
            code = channel.exit_code(0.0)
        finally:
            channel.close()
        if code == _MISSING:
            return None
        if code == _NO_PROGRAM:
            raise EngineError(f"pod {self.id} gives no files: the image has neither tar nor python3")
        if not archive.endswith(_END_OF_ARCHIVE):
            raise EngineError(f"{path} of pod {self.id} changed while it was read")
        return bytes(archive)

    def kill_all(self) -> None:
        self.kills += 1
        # Where processes have used up all that the pod may have, this one waits for its turn.
        for attempt in range(RETRIES + 1):
            try:
                channel = self._execute(["/bin/sh", "-c", "kill -9 -1"], terminal=False)
                with _closing(channel):
                    if channel.exit_code(CALL_SECONDS) in (0, 1):  # 1: there was none
                        return
            except EngineError:
                if attempt == RETRIES:
                    raise
            time.sleep(BACKOFF * 2**attempt)
        raise EngineError(f"the processes of pod {self.id} cannot be killed")

    def remove(self) -> None:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        if self._removed:
            return
        try:
            self._api.delete_namespaced_pod(
                self.id,
                self._namespace,
                grace_period_seconds=0,
                _request_timeout=CALL_SECONDS,
            )
        except (ApiException, HTTPError, OSError) as error:  # gone, or the API is: the reaper looks again
            self._removed = getattr(error, "status", None) == 404
        else:
            self._removed = True

    def _execute(self, line: list[str], *, terminal: bool) -> ExecChannel:
        """Start a process. It is tried again only where it certainly has not begun."""
        from kubernetes.client import ApiClient, ApiException, CoreV1Api
        from kubernetes.stream import stream

        def connect() -> Any:
            # The library changes the client that it connects with, so it gets one of its own.
            api = CoreV1Api(ApiClient(self._api.api_client.configuration))
            return stream(
                api.connect_get_namespaced_pod_exec, self.id, self._namespace, container=CONTAINER, command=line,
                stdin=True, stdout=True, stderr=not terminal, tty=terminal, binary=True, _preload_content=False,
            )  # fmt: skip

        for attempt in range(RETRIES + 1):
            try:
                return ExecChannel(_in_time(connect), self.id)
            except TimeoutError as error:
                raise EngineError(f"pod {self.id} runs no command: {error}") from error
            except ApiException as error:
                cause = error.__context__
                refused = isinstance(cause, ConnectionRefusedError) or getattr(cause, "status_code", None) == 429
                if not refused or attempt == RETRIES:
                    raise EngineError(f"pod {self.id} runs no command: {said(error)}") from error
            time.sleep(BACKOFF * 2**attempt)
        raise AssertionError("the last attempt returns or raises")


def _in_time(connect: Callable[[], Any]) -> Any:
    """Return the connection that is made, or raise what making it raises; TimeoutError if it takes too long.

    The library waits for ever for a server that takes a connection and says nothing.
    """
    made: Future[Any] = Future()

    def work() -> None:
        connection, failure = None, None
        try:
            connection = connect()
        except BaseException as error:  # belongs to whoever waits
            failure = error
        if made.set_running_or_notify_cancel():
            if failure is None:
                made.set_result(connection)
            else:
                made.set_exception(failure)
        elif connection is not None:
            connection.sock.shutdown()

    Thread(target=work, name="gem-terminal connects", daemon=True).start()
    try:
        return made.result(CALL_SECONDS)
    except FutureTimeout:
        if not made.cancel():  # it has come just now
            return made.result()
        raise TimeoutError(f"the API has not answered for {CALL_SECONDS:g} seconds") from None


@contextmanager
def asking(what: str, but: int | None = None, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Let whatever the client raises become an EngineError.

    Args:
        what: what could not be done, for the message.
        but: a status that is no failure.
        passing: what goes through as it is.
    """
    from kubernetes.client import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except passing:
        raise
    except ApiException as error:
        if error.status != but:
            raise EngineError(f"{what}: {said(error)}") from error
    except (HTTPError, OSError, ValueError) as error:  # ValueError: the client's own validation
        raise EngineError(f"{what}: {error}") from error


@contextmanager
def _closing(channel: Channel) -> Iterator[None]:
    try:
        yield
    finally:
        channel.close()


def said(error: Any) -> str:
    """Return the sentence in an answer of the API: that of its Status, or what the client makes of it."""
    cause = error.__context__
    bodies: tuple[Any, Any] = (error.body, getattr(cause, "resp_body", None))
    for body in bodies:
        with suppress(ValueError, TypeError, AttributeError, KeyError):
            return str(json.loads(body)["message"])
    return str(cause or f"{error.status} {error.reason}")
