"""A real PostgreSQL for episodes: one cluster for a user of the machine, a database and a role for each episode.

The first process that needs it starts the server from the machine's programs, in a temporary folder. Other processes
of the user find it there. A supervisor process owns the server: it keeps databases ready, drops those whose process
has ended, even by ``kill -9``, and stops the server some time after its last user.
"""

from gem_tools.postgres.databases import SHARED_ROLES
from gem_tools.postgres.episode_database import EpisodeDatabase
from gem_tools.postgres.errors import PostgresError
from gem_tools.postgres.lease import open_database, release_lease, require_postgres, stop_server
from gem_tools.postgres.own_cluster import ClusterDatabase, open_cluster
from gem_tools.postgres.session import PostgresSession, PostgresStatementError, TextRows

__all__ = [
    "SHARED_ROLES",
    "ClusterDatabase",
    "EpisodeDatabase",
    "PostgresError",
    "PostgresSession",
    "PostgresStatementError",
    "TextRows",
    "open_cluster",
    "open_database",
    "release_lease",
    "require_postgres",
    "stop_server",
]
