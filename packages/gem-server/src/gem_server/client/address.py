"""The addresses of environments behind servers: ``http://host:port/game:Sudoku-v0``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gem.errors import ArgumentError

__all__ = ["EnvAddress", "parse_address", "token_from_surroundings"]


@dataclass(frozen=True)
class EnvAddress:
    """A server and an environment on it."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    port: int
    prefix: str
    """The path before the id, for a server behind a proxy; empty, or with a leading slash."""
    env_id: str

    @property
    def server(self) -> str:
        """The address of the server alone."""
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def authority(self) -> str:
        """Host and port, as in the header ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(url: str) -> EnvAddress:
    """Return the parts of an address.

    Raises:
        ArgumentError: if it is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ArgumentError(f"{url!r} is not an address of an environment: {error}") from error
    prefix, _, last = parts.path.rpartition("/")
    env_id = unquote(last)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or ":" not in env_id
        or parts.query
        or parts.fragment
    ):
        raise ArgumentError(
            f"{url!r} is not an address of an environment, such as http://localhost:8080/game:Sudoku-v0"
        )
    if parts.username or parts.password:
        raise ArgumentError(
            "an address holds no token, since it is recorded with every episode; set GEM_SERVER_TOKEN instead"
        )
    return EnvAddress(parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), prefix, env_id)


def token_from_surroundings(variable: str = "GEM_SERVER_TOKEN") -> str | None:
    """Return the token in an environment variable, or in the file that ``variable_FILE`` names; None without both.

    Raises:
        ArgumentError: if the file cannot be read.
    """
    token = os.environ.get(variable)
    if token:
        return token.strip()
    path = os.environ.get(f"{variable}_FILE")
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read {variable}_FILE={path}: {error}") from error
