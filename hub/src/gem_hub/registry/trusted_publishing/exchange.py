"""The exchange of an identity token for a token of the registry, and the publishers that are configured for packages.

A minted token publishes each package for the account that configured its publisher, as long as that account may publish
the package. So a publisher ends with the ownership of the one who added it, and a publisher of a package that does not
exist yet (pending) is worth nothing once somebody else has published under that name. Anybody may name a foreign
repository in a publisher of an own package; that gives the repository's jobs one more right, and takes none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from gem_hub.registry.organisations.roles import Act
from gem_hub.registry.problems import Problem
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tables import accounts
from gem_hub.registry.tokens import Credential
from gem_hub.registry.trusted_publishing.acting import holder_of_minted_tokens
from gem_hub.registry.trusted_publishing.errors import IdentityRefused
from gem_hub.registry.trusted_publishing.identity import VerifiedIdentity, Verifier
from gem_hub.registry.trusted_publishing.publishers import TrustedPublisher, mismatch, pins, place_of, read_publisher
from gem_hub.registry.trusted_publishing.tables import minted_rights, publishers, used_tokens

__all__ = ["TOKEN_SECONDS", "MintedToken", "TokenExchange"]

TOKEN_SECONDS = 900
"""The lifetime of a minted token; PEP 807 allows 15 minutes to 6 hours."""
_MOST_OF_PACKAGE = 20
_MOST_PENDING = 10
_SHOWN_REASONS = 3


@dataclass(frozen=True)
class MintedToken:
    """A token of the registry for a workflow."""

    token: str
    expires: int
    """Seconds since 1970."""
    packages: list[str]
    """The packages that it may publish."""


@dataclass(frozen=True)
class _Match:
    row: Row[Any]
    publisher: TrustedPublisher


class TokenExchange:
    """Trusted publishing of one registry.

    Args:
        services: the registry.
        verifier: verifies identity tokens.
    """

    def __init__(self, services: RegistryServices, verifier: Verifier) -> None:
        self._services = services
        self.verifier = verifier

    def mint(self, token: object, wanted: Collection[str] | None = None, address: str = "") -> MintedToken:
        """Return a token of the registry for an identity token, which can be exchanged once.

        Args:
            token: the identity token.
            wanted: the packages that the client is about to publish; None for all of the workflow.
            address: the client's network address, for the audit log.

        Raises:
            IdentityRefused: if the identity token is refused, or no publisher fits; the message names the reason.
        """
        # What is no valid token is not noted: anybody can send it, and the audit log only grows.
        identity = self.verifier.verify(token)
        try:
            matches = self._matches(identity, wanted)
            self._use(identity, matches)
        except IdentityRefused as refusal:
            self._services.audit.add(
                "publisher.refused", "identity token", address=address, reason=refusal.code, detail=str(refusal)[:1000]
            )
            raise
        packages = sorted(matches)
        origin = str(matches[packages[0]].publisher)[:200]
        holder = holder_of_minted_tokens(self._services)
        minted, number = self._services.tokens.mint(
            holder, "trusted publishing", ["publish"], packages, TOKEN_SECONDS, origin
        )
        rights = [
            {
                "token_id": number,
                "package": name,
                "account_id": match.row.account_id,
                "publisher_id": match.row.id,
                "publisher": str(match.publisher)[:200],
            }
            for name, match in matches.items()
        ]
        claims = {name: str(identity.claims[name])[:255] for name in _LOGGED if name in identity.claims}
        with self._services.database.change() as connection:
            connection.execute(insert(minted_rights), rights)
            accounts_of = ", ".join(sorted({match.row.account for match in matches.values()}))
            self._services.audit.add(
                "publisher.mint",
                ", ".join(packages),
                accounts_of,
                number,
                address,
                connection,
                publisher=origin,
                claims=claims,
            )
        return MintedToken(minted, int(self._services.clock()) + TOKEN_SECONDS, packages)

    def burn(self, token: str, address: str = "") -> bool:
        """End a minted token before its time; return whether it was one.

        A token that a person made is not touched.
        """
        credential = self._services.tokens.find(token)
        if credential is None or credential.origin == "account":
            return False
        done = self._services.tokens.revoke(credential.token_id)
        self._services.audit.add("publisher.burn", credential.origin, credential.account, credential.token_id, address)
        return done

    def add(self, package: str, document: object, credential: Credential, address: str = "") -> dict[str, Any]:
        """Configure a publisher; return it as JSON values. Adding one that is there changes nothing.

        Raises:
            IdentityRefused: if the document describes no publisher.
            Problem: 403 if the account may not publish the package, 409 if there are too many publishers.
        """
        pending = self._check_owner(package, credential)
        issuer = self.verifier.issuers.named(str(document.get("issuer")) if isinstance(document, Mapping) else "")
        if issuer is None:
            names = ", ".join(one.name for one in self.verifier.issuers)
            raise IdentityRefused("publisher-invalid", f"issuer must be one of {names}")
        publisher = read_publisher(document, issuer)
        row = {
            "package": package,
            "account_id": credential.account_id,
            "issuer": publisher.issuer,
            "place": place_of(publisher),
            "configuration": {
                "provider": publisher.provider,
                "fields": dict(publisher.fields),
                "claims": dict(publisher.claims),
            },
            "fingerprint": _digest(publisher.issuer, publisher.fields, publisher.claims),
            "pinned": dict(publisher.pinned),
            "created": int(self._services.clock()),
        }
        try:
            with self._services.database.change() as connection:
                self._check_number(connection, package, credential, pending)
                connection.execute(insert(publishers).values(row))
                self._services.audit.add(
                    "publisher.add",
                    package,
                    credential.account,
                    credential.token_id,
                    address,
                    connection,
                    publisher=publisher.to_dict(),
                )
        except IntegrityError as error:
            known = next(one for one in self._rows(package) if one.fingerprint == row["fingerprint"])
            if known.account_id != credential.account_id or dict(known.pinned) != {**known.pinned, **publisher.pinned}:
                raise Problem(
                    HTTPStatus.CONFLICT,
                    f"{package} has this publisher already, added by {known.account} or bound to other ids; "
                    "remove it first",
                ) from error
        return next(self._shown(one) for one in self._rows(package) if one.fingerprint == row["fingerprint"])

    def of(self, package: str, credential: Credential) -> list[dict[str, Any]]:
        """Return the publishers of a package as JSON values, for its owners.

        Raises:
            Problem: 403 if the account may not publish the package.
        """
        pending = self._check_owner(package, credential)
        rows = self._rows(package)
        return [self._shown(row) for row in rows if not pending or row.account_id == credential.account_id]

    def remove(self, package: str, number: int, credential: Credential, address: str = "") -> bool:
        """Remove a publisher; return whether there was one. Tokens that it minted lose the package.

        Raises:
            Problem: 403 if the account may not publish the package.
        """
        pending = self._check_owner(package, credential)
        row = next((one for one in self._rows(package) if one.id == number), None)
        if row is None or (pending and row.account_id != credential.account_id):
            return False
        with self._services.database.change() as connection:
            connection.execute(delete(publishers).where(publishers.c.id == number))
            connection.execute(delete(minted_rights).where(minted_rights.c.publisher_id == number))
            self._services.audit.add(
                "publisher.remove", package, credential.account, credential.token_id, address, connection, id=number
            )
        return True

    def _matches(self, identity: VerifiedIdentity, wanted: Collection[str] | None) -> dict[str, _Match]:
        """Return package → the publisher that fits an identity, the oldest of several."""
        place = _place_of_identity(identity)
        query = (
            select(publishers, accounts.c.name.label("account"), accounts.c.disabled)
            .join(accounts)
            .where(publishers.c.issuer == identity.issuer.name, publishers.c.place == place)
            .order_by(publishers.c.id)
        )
        with self._services.database.read() as connection:
            rows = connection.execute(query).all()
        matches: dict[str, _Match] = {}
        reasons = []
        for row in rows:
            publisher = self._publisher(row)
            if wanted is not None and row.package not in wanted:
                reasons.append(f"{row.package}: is not what is published")
            elif publisher.provider != identity.issuer.provider:
                reasons.append(f"{row.package}: the publisher was added for an issuer of another kind")
            elif reason := mismatch(publisher, identity):
                reasons.append(f"{row.package}: {reason}")
            elif row.disabled is not None or not self._may(row.package, row.account, "publish"):
                reasons.append(f"{row.package}: {row.account}, who added the publisher, may not publish it")
            else:
                matches.setdefault(row.package, _Match(row, publisher))
        if not matches:
            shown = "; ".join(reasons[:_SHOWN_REASONS]) or f"none is configured for {place!r} at {identity.issuer.name}"
            raise IdentityRefused(
                "no-publisher", f"no trusted publisher of this hub fits the workflow ({shown}); see gem hub publishers"
            )
        return matches

    def _use(self, identity: VerifiedIdentity, matches: Mapping[str, _Match]) -> None:
        """Note the identity token as used, and bind the publishers to its numeric ids; all or nothing."""
        now = int(self._services.clock())
        try:
            with self._services.database.change() as connection:
                connection.execute(delete(used_tokens).where(used_tokens.c.expires < now))
                sha256 = _digest(identity.issuer.url, identity.token_id)
                connection.execute(insert(used_tokens).values(sha256=sha256, expires=identity.expires))
                for match in matches.values():
                    fresh = connection.execute(
                        select(publishers.c.pinned).where(publishers.c.id == match.row.id).with_for_update()
                    ).scalar_one_or_none()
                    found = pins(match.publisher, identity)
                    # Read again, since another first use may have bound it in between, or an owner removed it.
                    if fresh is None or {**fresh, **found} != {**found, **fresh}:
                        raise IdentityRefused(
                            "publisher-changed", "the publisher has changed meanwhile; run the job again"
                        )
                    values = {"pinned": {**fresh, **found}, "used": now}
                    connection.execute(update(publishers).where(publishers.c.id == match.row.id).values(values))
        except IntegrityError as error:
            raise IdentityRefused(
                "token-replayed", "the identity token was exchanged before; each one can be used once"
            ) from error

    def _check_owner(self, package: str, credential: Credential) -> bool:
        """Return whether the package does not exist yet; refuse an account that may not publish it."""
        if "manage" not in credential.scopes:
            raise Problem(
                HTTPStatus.FORBIDDEN, "this token may not manage publishers; make one with the scope 'manage'"
            )
        if not credential.covers(package):
            raise Problem(HTTPStatus.FORBIDDEN, f"this token is for other packages than {package}; use another one")
        if not self._may(package, credential.account, "owners") and not self._services.is_operator(credential.account):
            raise Problem(
                HTTPStatus.FORBIDDEN, f"{package} belongs to others, and {credential.account} may not change it"
            )
        return self._services.store.package(package) is None

    def _may(self, package: str, account: str, act: Act) -> bool:
        known = self._services.store.package(package)
        return known is None or self._services.organisations.acting_for(account, known.owners, act) is not None

    def _check_number(self, connection: Connection, package: str, credential: Credential, pending: bool) -> None:
        count = select(func.count()).select_from(publishers)
        if connection.execute(count.where(publishers.c.package == package)).scalar_one() >= _MOST_OF_PACKAGE:
            raise Problem(HTTPStatus.CONFLICT, f"{package} has {_MOST_OF_PACKAGE} publishers; remove one first")
        if not pending:
            return
        own = connection.execute(
            select(publishers.c.package).where(publishers.c.account_id == credential.account_id)
        ).scalars()
        waiting = [name for name in own if self._services.store.package(name) is None]
        if len(waiting) >= _MOST_PENDING:
            raise Problem(
                HTTPStatus.CONFLICT,
                f"{credential.account} has {_MOST_PENDING} publishers for packages that do not exist yet; publish or "
                "remove one first",
            )

    def _rows(self, package: str) -> list[Row[Any]]:
        query = (
            select(publishers, accounts.c.name.label("account"))
            .join(accounts)
            .where(publishers.c.package == package)
            .order_by(publishers.c.id)
        )
        with self._services.database.read() as connection:
            return list(connection.execute(query).all())

    @staticmethod
    def _publisher(row: Row[Any]) -> TrustedPublisher:
        kept = row.configuration
        return TrustedPublisher(row.issuer, kept["provider"], kept["fields"], kept["claims"], row.pinned)

    def _shown(self, row: Row[Any]) -> dict[str, Any]:
        shown = {"issuer": row.issuer, **row.configuration["fields"], **row.pinned}
        if row.configuration["claims"]:
            shown["claims"] = row.configuration["claims"]
        pending = self._services.store.package(row.package) is None
        return {
            "id": row.id,
            **shown,
            "added_by": row.account,
            "created": row.created,
            "used": row.used,
            "pending": pending,
        }


_LOGGED = (
    "iss", "sub", "jti", "repository", "repository_id", "job_workflow_ref", "project_path", "project_id",
    "ci_config_ref_uri", "ref", "ref_path", "sha", "event_name", "environment", "actor", "run_id",
)  # fmt: skip
"""The claims in the audit log: by these an incident is traced to a run."""


def _place_of_identity(identity: VerifiedIdentity) -> str:
    name = {"github": "repository", "gitlab": "project_path", "claims": "sub"}[identity.issuer.provider]
    value = identity.claims.get(name)
    if not isinstance(value, str) or not value:
        raise IdentityRefused("missing-claim", f"the identity token has no claim {name!r}")
    return value[:255] if identity.issuer.provider == "claims" else value.casefold()[:255]


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
