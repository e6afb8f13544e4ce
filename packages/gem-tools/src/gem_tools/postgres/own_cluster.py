"""A server of an episode's own, whose superuser is the agent: :func:`open_cluster`."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import weakref
from urllib.parse import quote

from gem.fork_hooks import after_fork_in_child
from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.keeper import SUPERUSER
from gem_tools.postgres.session import PostgresSession, import_psycopg

__all__ = ["ClusterDatabase", "open_cluster"]

_MOST_BYTES = 4 << 30
_END_SECONDS = 60


class ClusterDatabase(PostgresSession):
    """A database, and a session of the superuser of the server that exists for it alone; made by :func:`open_cluster`.

    Tasks that make roles, or connect as several, need such a server: roles belong to a server, not to a database. The
    kernel keeps it from starting programs, from TCP, and from files of others, since a superuser could do all that.

    Args:
        keeper: the process that ends the server when it ends.
        sockets: the folder of the server's socket.
        port: the number of the socket.
        name: of the database, which exists.
    """

    def __init__(self, keeper: subprocess.Popen[str], sockets: str, port: int, name: str) -> None:
        self.sockets, self.port, self.user, self.name = sockets, port, SUPERUSER, name
        self.url = f"postgresql://{SUPERUSER}@/{quote(name, safe='')}?host={sockets}&port={port}"
        """For other clients; it ends with the episode."""
        super().__init__(most_bytes=_MOST_BYTES, host=sockets, port=port, user=SUPERUSER, dbname=name)
        self._keeper = keeper
        self._end = weakref.finalize(self, _end, keeper)
        self._end.atexit = False  # the keeper notices the end of the process
        after_fork_in_child(self._disown)

    def close(self) -> None:
        """End the session and the server. A second call does nothing."""
        super().close()
        self._end()

    def _disown(self) -> None:
        self._end.detach()
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()


def open_cluster(name: str) -> ClusterDatabase:
    """Start a server and return an empty database of it.

    Args:
        name: of the database.

    Raises:
        PostgresError: if PostgreSQL or psycopg is not installed, or the server cannot be started or confined.
    """
    import_psycopg()
    from psycopg import sql

    keeper = subprocess.Popen(  # this interpreter
        [sys.executable, "-m", "gem_tools.postgres.keeper"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
        start_new_session=True,
    )  # fmt: skip
    try:
        assert keeper.stdout is not None
        said = json.loads(keeper.stdout.readline() or '{"error": "its process has ended"}')
        if "error" in said:
            raise PostgresError(f"the PostgreSQL server of an episode cannot be started: {said['error']}")
        sockets, port = str(said["sockets"]), int(said["port"])
        maker = PostgresSession(host=sockets, port=port, user=SUPERUSER, dbname="postgres")
        with contextlib.closing(maker):
            maker.load(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)).as_string(None))
        return ClusterDatabase(keeper, sockets, port, name)
    except BaseException:
        _end(keeper)
        raise


def _end(keeper: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):  # it has ended
        if keeper.stdin is not None:
            keeper.stdin.write("q")  # a forked child may have the pipe as well, so its end might say nothing
            keeper.stdin.close()
    try:
        keeper.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
    if keeper.stdout is not None:
        keeper.stdout.close()
