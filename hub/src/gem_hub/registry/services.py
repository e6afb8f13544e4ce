"""The parts of a registry that its endpoints share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from pathlib import Path

from sqlalchemy import select

from gem_hub.errors import HubRefusal
from gem_hub.policy import HubPolicy
from gem_hub.registry.accounts import Accounts
from gem_hub.registry.audit_log import AuditLog
from gem_hub.registry.database import Database
from gem_hub.registry.downloads import DownloadCounter
from gem_hub.registry.forms import FormLimits
from gem_hub.registry.organisations.organisations import Organisations
from gem_hub.registry.problems import Problem
from gem_hub.registry.queue import ConformanceQueue
from gem_hub.registry.quotas import UsageCounters
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.tables import grants, private_checks
from gem_hub.registry.tokens import Credential, Tokens
from gem_hub.storage import PRIVATE, HubFolder
from gem_hub.store import Store

__all__ = ["RegistryServices"]


@dataclass
class RegistryServices:
    """One registry: its hub, its database, and what is built upon them.

    Raises:
        HubRefusal: if the database cannot be used.
    """

    store: Store
    settings: RegistrySettings = field(default_factory=RegistrySettings)
    fallback: str = ""
    """The simple index for unknown names; empty for none."""
    clock: Callable[[], float] = time.time
    limits: FormLimits = field(default_factory=FormLimits)
    conformance_note: str = ""
    """Why nothing here runs the kit; empty if something does."""
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        self.database = Database(self.settings.database or f"sqlite:///{self.folder / 'registry.db'}")
        self.accounts = Accounts(self.database, self.clock)
        self.tokens = Tokens(self.database, self.clock)
        self.organisations = Organisations(self.database, self.accounts, self.clock)
        self.audit = AuditLog(self.database, self.clock)
        self.counters = UsageCounters(self.database, self.clock)
        self.downloads = DownloadCounter(self.database, self.clock)
        self.queue = ConformanceQueue(self.database, self.clock)
        self.private_queue = ConformanceQueue(self.database, self.clock, table=private_checks)
        self._lock = threading.Lock()
        self._owners: dict[str, list[str]] = {}

    @cached_property
    def folder(self) -> Path:
        """The folder of this machine that holds what no reader of the hub may see."""
        if self.settings.folder:
            return Path(self.settings.folder)
        if not isinstance(self.store.files, HubFolder):
            raise HubRefusal(
                f"{self.store.files.address}: a registry over a bucket keeps its database and uploads on this machine; "
                'name the folder for them in its settings: folder = "/srv/registry"'
            )
        return self.store.folder / PRIVATE / "registry"

    @cached_property
    def uploads(self) -> Path:
        """The folder in which uploads wait for the gate."""
        folder = self.folder / "uploads"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def policy(self) -> HubPolicy:
        """Return the policy of the hub, with the namespaces that operators have granted over HTTP."""
        policy = HubPolicy.of(self.store.files)
        with self.database.read() as connection:
            granted = {row.namespace: [row.account] for row in connection.execute(select(grants))}
        return policy.model_copy(update={"namespaces": {**granted, **policy.namespaces}})

    def is_operator(self, account: str) -> bool:
        """Return whether an account operates the hub."""
        return account in self.store.operators()

    def known_persons(self) -> set[str]:
        """Return the accounts that have rights in the hub, which no stranger may register.

        The owners of all packages are read once, and those of new packages each time. An operator who publishes under
        further names from a command line while the registry runs registers them first.
        """
        policy = self.policy()
        granted = {person for persons in policy.namespaces.values() for person in persons}
        with self._lock:
            for name in self.store.packages():
                if name not in self._owners:
                    self._owners[name] = self.store.owners(name)
            owners = {owner for names in self._owners.values() for owner in names}
        return {*self.store.operators(), *policy.prefix_owners, *granted, *owners}

    def authenticate(self, header: str, address: str) -> Credential:
        """Return what a request's ``Authorization`` stands for: Bearer, or Basic with the user ``__token__``.

        Args:
            header: the value of the header.
            address: the client's network address.

        Raises:
            Problem: 401 without a valid token, 429 after too many wrong ones.
        """
        token = _token_of(header)
        credential = self.tokens.find(token) if token else None
        if credential is None:
            self.counters.spend(
                "failed-login",
                address,
                self.settings.quotas.failed_logins_per_hour,
                3600,
                "failed logins an hour",
            )
            problem = "the token is wrong, revoked or expired" if token else "a token is needed"
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                f"{problem}; send one of this registry as the password of the user __token__, or as Bearer",
                {"WWW-Authenticate": 'Basic realm="gem hub"'},
            )
        return credential

    def close(self) -> None:
        """Write down what was counted, and close the database."""
        self.downloads.flush()
        self.database.close()


def _token_of(header: str) -> str:
    import base64
    import binascii

    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        user, _, password = base64.b64decode(value.strip(), validate=True).decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return ""
    return password if user == "__token__" else ""
