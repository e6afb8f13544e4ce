"""The stored tokens, one for each registry, in a file that only its owner may read."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gem_hub_client.errors import HubError
from gem_hub_client.folders import config_file
from gem_hub_client.locking import exclusive
from gem_hub_client.registry.token_scope import check_safe, registry_of

__all__ = ["Login", "credentials_file", "forget", "login_of", "logins", "prepare", "reading_login", "remember"]


class Login(NamedTuple):
    """A token, and the account that it belongs to."""

    token: str
    account: str

    def __repr__(self) -> str:
        return f"Login(token='…', account={self.account!r})"


def credentials_file() -> Path:
    """Return the path of the file with the tokens, beside the one that ``gem hub use`` writes."""
    return config_file().with_name("credentials.json")


def login_of(address: str) -> Login | None:
    """Return the login at a registry; None if there is none.

    Args:
        address: the registry, as :func:`gem_hub_client.registry.addresses.registry_address` spells it.

    Raises:
        HubError: if the file is unreadable, or readable for others.
    """
    known = logins()
    return known.get(address) or known.get(registry_of(address))


def reading_login(address: str) -> Login | None:
    """Return the login that opens an address of a private hub; None for any other address, and without a login.

    A token is sent to no address outside the private hubs of its own registry, so that reading a public hub tells
    nobody who reads.

    Raises:
        HubError: as for :func:`login_of`, and if the address is not safe for a token.
    """
    registry = registry_of(address)
    login = logins().get(registry) if registry else None
    if login is not None:
        check_safe(address)
    return login


def logins() -> dict[str, Login]:
    """Return all logins by address.

    Raises:
        HubError: as for :func:`login_of`.
    """
    path = credentials_file()
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
                raise HubError(f"{path}: other users may read the tokens in it; run: chmod 600 {path}")
            document = json.load(file)
        found = {str(key): Login(one["token"], one["account"]) for key, one in document["hubs"].items()}
        if document["format"] != 1 or not all(isinstance(text, str) for login in found.values() for text in login):
            raise ValueError("not in format 1")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise HubError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        # The content is not repeated, since it may be a token.
        raise HubError(f"{path}: is no file of tokens; remove it and log in again") from error
    return found


def prepare() -> None:
    """Make sure that a login can be stored.

    Raises:
        HubError: if the file cannot be read or written.
    """
    with _locked():
        logins()


def remember(address: str, login: Login) -> Path:
    """Store a login in the place of an earlier one at the same registry; return the file.

    Raises:
        HubError: if the file cannot be read or written.
    """
    with _locked() as path:
        _write(path, {**logins(), address: login})
    return path


def forget(address: str) -> bool:
    """Remove the login at a registry; return whether there was one.

    Raises:
        HubError: as for :func:`remember`.
    """
    with _locked() as path:
        known = logins()
        if known.pop(address, None) is None:
            return False
        _write(path, known)
    return True


@contextmanager
def _locked() -> Iterator[Path]:
    """Hold the lock without which two commands at once could lose one of two logins."""
    path = credentials_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with exclusive(path.with_name(f".{path.name}.lock"), timeout=10):
            yield path
    except OSError as error:  # TimeoutError is one
        raise HubError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write(path: Path, known: Mapping[str, Login]) -> None:
    hubs = {address: login._asdict() for address, login in sorted(known.items())}
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    part.unlink(missing_ok=True)
    try:
        # Created with these rights, so that at no time another user can open it.
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps({"format": 1, "hubs": hubs}, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
