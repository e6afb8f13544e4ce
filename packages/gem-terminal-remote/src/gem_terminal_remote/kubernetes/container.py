"""A pod as a container: :class:`Pod`; and the errors of API calls: :func:`api_errors`."""

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

from gem_terminal.engines.base import Channel, Container, ProcessOptions
from gem_terminal.errors import EngineError
from gem_terminal_remote.kubernetes.channel import ExecChannel, command_line
from gem_terminal_remote.kubernetes.pods import CONTAINER

if TYPE_CHECKING:
    from kubernetes.client import CoreV1Api
    from typing_extensions import Unpack

__all__ = ["BACKOFF", "CALL_SECONDS", "RETRIES", "Pod", "SideCarOfPod", "api_errors", "said"]

CALL_SECONDS = 30.0
"""The time limits of an API call: for the connection and for the answer."""

RETRIES = 4
BACKOFF = 0.2
"""Seconds before the first retry; the pause doubles with each further one."""

_FILE_SECONDS = 600.0
_QUIET_SECONDS = 60.0

# $1: the folder, $2: the size of the archive in bytes. tar would read until the input is closed, which version 4 of the
# protocol cannot do, so head ends the input.
_UNPACK = r"""
if command -v tar >/dev/null; then head -c "$2" | tar -x -p -f - --numeric-owner -C "$1"
elif command -v python3 >/dev/null; then head -c "$2" | python3 -I -c '
import sys, tarfile
safely = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
tarfile.open(fileobj=sys.stdin.buffer, mode="r|").extractall(sys.argv[1], **safely)' "$1"
else echo "the image has neither tar nor python3"; exit 1
fi
"""

# $1: the parent folder, $2: the name, $3: the size limit in bytes. Exit codes: 44 for no such file, 45 for no program.
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
    """A running pod, or one that is starting.

    Args:
        api: the API's calls for pods.
        namespace: the namespace of the pod.
        name: the name of the pod.
        containers: in a pod with several containers, the names of the others → their names in the pod.
    """

    _container = CONTAINER

    def __init__(self, api: CoreV1Api, namespace: str, name: str, containers: Mapping[str, str] | None = None) -> None:
        self.id = name
        self.containers = dict(containers or {})
        self._api = api
        self._namespace = namespace
        self._removed = False

    def open(self, command: Iterable[str], **options: Unpack[ProcessOptions]) -> Channel:
        return self._execute(command_line(command, options), terminal=options.get("terminal", False))

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
                if time.monotonic() > deadline:  # the container's own tar may write forever
                    raise EngineError(f"pod {self.id} does not give {path} in {_FILE_SECONDS:g} seconds")
                if not data:
                    raise EngineError(f"pod {self.id} sent nothing more of {path} for {_QUIET_SECONDS:g} seconds")
                archive += data
                if len(archive) > most:
                    raise EngineError(f"{path} of pod {self.id} is larger than {most} bytes")
            code = channel.exit_code(0.0)
        finally:
            channel.close()
        if code == _MISSING:
            return None
        if code == _NO_PROGRAM:
            raise EngineError(f"pod {self.id} cannot send files: the image has neither tar nor python3")
        if not archive.endswith(_END_OF_ARCHIVE):
            raise EngineError(f"{path} of pod {self.id} changed while it was read")
        return bytes(archive)

    def kill_all(self) -> None:
        self.kills += 1
        # If processes use all resources of the pod, this command must wait for its turn.
        for attempt in range(RETRIES + 1):
            try:
                channel = self._execute(["/bin/sh", "-c", "kill -9 -1"], terminal=False)
                with _closing(channel):
                    if channel.exit_code(CALL_SECONDS) in (0, 1):  # 1: there was no process to kill
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
        except (ApiException, HTTPError, OSError) as error:  # the pod or the API has gone; the reaper tries again
            self._removed = getattr(error, "status", None) == 404
        else:
            self._removed = True

    def _execute(self, line: list[str], *, terminal: bool) -> ExecChannel:
        """Start a process. The call is repeated only if the process certainly has not started."""
        from kubernetes.client import ApiClient, ApiException, CoreV1Api
        from kubernetes.stream import stream

        def connect() -> Any:
            # The library changes the client that opens a connection, so each connection gets its own.
            api = CoreV1Api(ApiClient(self._api.api_client.configuration))
            return stream(
                api.connect_get_namespaced_pod_exec, self.id, self._namespace, container=self._container, command=line,
                stdin=True, stdout=True, stderr=not terminal, tty=terminal, binary=True, _preload_content=False,
            )  # fmt: skip

        for attempt in range(RETRIES + 1):
            try:
                return ExecChannel(_connect_in_time(connect), self.id)
            except TimeoutError as error:
                raise EngineError(f"pod {self.id} runs no command: {error}") from error
            except ApiException as error:
                cause = error.__context__
                refused = isinstance(cause, ConnectionRefusedError) or getattr(cause, "status_code", None) == 429
                if not refused or attempt == RETRIES:
                    raise EngineError(f"pod {self.id} runs no command: {said(error)}") from error
            time.sleep(BACKOFF * 2**attempt)
        raise AssertionError("the last attempt returns or raises")


class SideCarOfPod(Pod):
    """A further container of a pod, which is removed with the pod.

    Args:
        pod: the pod.
        name: the name of a container in it; see :attr:`Pod.containers`.
    """

    def __init__(self, pod: Pod, name: str) -> None:
        super().__init__(pod._api, pod._namespace, pod.id)
        self._container = pod.containers[name]

    def remove(self) -> None:
        """End the processes of the container, which waits on until its pod is removed."""
        if not self._removed:
            self._removed = True
            with suppress(EngineError):  # the pod has gone
                self.kill_all()


def _connect_in_time(connect: Callable[[], Any]) -> Any:
    """Return the result of ``connect`` or raise its error; TimeoutError if it takes too long.

    The library waits forever for a server that accepts a connection but never answers.
    """
    made: Future[Any] = Future()

    def work() -> None:
        connection, failure = None, None
        try:
            connection = connect()
        except BaseException as error:  # the waiting thread handles the error
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
        if not made.cancel():  # the connection arrived just now
            return made.result()
        raise TimeoutError(f"the API has not answered for {CALL_SECONDS:g} seconds") from None


@contextmanager
def api_errors(what: str, but: int | None = None, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Convert the errors of the client to EngineError.

    Args:
        what: the failure, as the beginning of the message.
        but: a status that is not a failure.
        passing: the types of errors that are not converted.
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
    """Return the message in an answer of the API, or else the client's own message."""
    cause = error.__context__
    bodies: tuple[Any, Any] = (error.body, getattr(cause, "resp_body", None))
    for body in bodies:
        with suppress(ValueError, TypeError, AttributeError, KeyError):
            return str(json.loads(body)["message"])
    return str(cause or f"{error.status} {error.reason}")
