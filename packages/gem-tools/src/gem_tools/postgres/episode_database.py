"""The database of one episode: :class:`EpisodeDatabase`."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from gem.fork_hooks import after_fork_in_child
from gem_tools.postgres.databases import ReadyDatabase
from gem_tools.postgres.location import PROBER, ClusterAddress
from gem_tools.postgres.session import PostgresSession

__all__ = ["EpisodeDatabase"]


class EpisodeDatabase(PostgresSession):
    """A database, and a session of the role that owns it; made by :func:`open_database`.

    The role is no superuser, creates neither roles nor databases, and can connect to this database alone.

    Args:
        address: the server.
        ready: the database.
        give_back: takes the database in the end.
    """

    def __init__(
        self, address: ClusterAddress, ready: ReadyDatabase, give_back: Callable[[ReadyDatabase], object]
    ) -> None:
        super().__init__(
            host=address.sockets, port=address.port, user=ready.name, password=ready.password, dbname=ready.name
        )
        self._address = address
        self.name = ready.name
        """Of the database and of its role; another one each time."""
        self.url = f"postgresql://{ready.name}:{ready.password}@127.0.0.1:{address.port}/{ready.name}"
        """For other clients of the episode's role, such as a server of tools; it ends with the episode."""
        self._end = weakref.finalize(self, give_back, ready)
        self._end.atexit = False  # the supervisor notices the end of the process
        after_fork_in_child(self._disown)

    def fresh_session(self, role: str | None = None) -> PostgresSession:
        """Return another session, to inspect what an episode has left: without the agent's settings.

        It has no more rights than the agent, because what an agent leaves (a view, a trigger) runs code of the agent.

        Args:
            role: one of :data:`gem_tools.postgres.SHARED_ROLES`, to see what it may do; None for the owner.
        """
        user = self.name if role is None else PROBER
        options = "-c search_path=public" if role is None else f"-c search_path=public -c role={role}"
        return PostgresSession(
            host=self._address.sockets, port=self._address.port, user=user, dbname=self.name, options=options
        )

    def close(self) -> None:
        """End the session and give the database back. A second call does nothing."""
        super().close()
        self._end()

    def _disown(self) -> None:
        self._end.detach()
