"""The organisations of a registry: their members, roles and invitations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from gem_hub.registry.accounts import Accounts
from gem_hub.registry.database import Database
from gem_hub.registry.organisations.roles import Act, Role, may
from gem_hub.registry.organisations.tables import invitations, memberships, organisations
from gem_hub.registry.problems import Problem
from gem_hub.registry.tables import accounts

__all__ = ["INVITATION_SECONDS", "Organisations"]

INVITATION_SECONDS = 14 * 24 * 3600


class Organisations:
    """The organisations of a registry.

    Names of organisations and accounts are those of accounts that exist; the caller has looked them up. To whom an
    organisation is none of their business, it does not exist: every refusal to a stranger is a 404.

    Args:
        database: the registry's database.
        accounts: its accounts, among which an organisation takes its name.
        clock: returns the time in seconds since 1970.
    """

    def __init__(self, database: Database, accounts: Accounts, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._accounts = accounts
        self._clock = clock

    def create(self, name: str, founder: int, taken: Iterable[str]) -> None:
        """Create an organisation, whose founder is its first owner.

        Args:
            name: its name, which no account has.
            founder: the number of an account.
            taken: names that mean something in the hub already.

        Raises:
            Problem: 400 for an impossible name, 409 for a name that is taken.
        """
        now = int(self._clock())

        def found(connection: Connection, number: int) -> None:
            connection.execute(insert(organisations).values(account_id=number, created=now, created_by=founder))
            row = {"organisation_id": number, "account_id": founder, "role": "owner", "since": now}
            connection.execute(insert(memberships).values(row))

        self._accounts.register(name, "organisation", tuple(taken), also=found)

    def role(self, organisation: str, account: str) -> Role | None:
        """Return the role of an account in an organisation; None if it is no member, or there is none of the name."""
        with self._database.read() as connection:
            return _role(connection, organisation, account)

    def acting_for(self, account: str, owners: Iterable[str], act: Act) -> str | None:
        """Return the owner of a package as whom an account may do something to it; None if it may not.

        That is the account itself where it owns the package, and else an organisation that owns the package and in
        which the account's role allows the act.

        Args:
            account: an account's name.
            owners: the owners of the package.
            act: what it wants to do.
        """
        known = list(owners)
        if account in known:
            return account
        return next((owner for owner in known if may(self.role(owner, account), act)), None)

    def of(self, account: str) -> dict[str, list[dict[str, Any]]]:
        """Return the organisations of an account, and the invitations that it can accept."""
        org, who = accounts.alias(), accounts.alias()
        members = (
            select(org.c.name.label("organisation"), memberships.c.role)
            .join(org, org.c.id == memberships.c.organisation_id)
            .join(who, who.c.id == memberships.c.account_id)
            .where(who.c.name == account)
            .order_by(org.c.name)
        )
        asked = (
            select(org.c.name.label("organisation"), invitations.c.role, invitations.c.expires)
            .join(org, org.c.id == invitations.c.organisation_id)
            .join(who, who.c.id == invitations.c.account_id)
            .where(who.c.name == account, invitations.c.expires > int(self._clock()))
            .order_by(org.c.name)
        )
        with self._database.read() as connection:
            return {
                "organisations": [dict(row._mapping) for row in connection.execute(members)],
                "invitations": [dict(row._mapping) for row in connection.execute(asked)],
            }

    def members(self, organisation: str, by: str) -> dict[str, list[dict[str, Any]]]:
        """Return the members of an organisation, and its open invitations, to one of its members.

        Raises:
            Problem: 404 if there is no such organisation that the account is a member of.
        """
        with self._database.read() as connection:
            number = _checked(connection, organisation, by, "read")
            listed = {}
            for table, time_column in ((memberships, "since"), (invitations, "expires")):
                query = (
                    select(accounts.c.name.label("account"), table.c.role, table.c[time_column])
                    .join(accounts, accounts.c.id == table.c.account_id)
                    .where(table.c.organisation_id == number)
                    .order_by(accounts.c.name)
                )
                if table is invitations:
                    query = query.where(table.c.expires > int(self._clock()))
                listed[table] = [dict(row._mapping) for row in connection.execute(query)]
        return {"members": listed[memberships], "invitations": listed[invitations]}

    def invite(self, organisation: str, account: str, role: Role, by: str) -> str:
        """Invite an account, or change the role of a member; return ``"invited"``, ``"changed"`` or ``"unchanged"``.

        Raises:
            Problem: 404 to strangers and for an account that does not exist, 403 if the role of ``by`` does not allow
                it, 409 if nobody would own the organisation any more.
        """
        with self._database.change() as connection:
            present = _role(connection, organisation, account)
            number = _checked(connection, organisation, by, "invite" if present is None else "role", lock=True)
            present = _role(connection, organisation, account)  # it may have changed before the lock
            row = connection.execute(select(accounts).where(accounts.c.name == account)).one_or_none()
            if row is None or row.disabled is not None or _number(connection, account) is not None:
                raise Problem(HTTPStatus.NOT_FOUND, f"there is no account {account[:60]!a}")
            if present == role:
                return "unchanged"
            if present is not None:
                if present == "owner":
                    _check_not_last(connection, number, organisation)
                where = (memberships.c.organisation_id == number, memberships.c.account_id == row.id)
                connection.execute(update(memberships).where(*where).values(role=role))
                return "changed"
            inviter = connection.execute(select(accounts.c.id).where(accounts.c.name == by)).scalar_one()
            _remove(connection, invitations, number, row.id)
            values = {
                "organisation_id": number,
                "account_id": row.id,
                "role": role,
                "invited_by": inviter,
                "expires": int(self._clock()) + INVITATION_SECONDS,
            }
            connection.execute(insert(invitations).values(values))
            return "invited"

    def accept(self, organisation: str, account: str) -> Role:
        """Make an account a member with the role of its invitation, and return the role.

        Raises:
            Problem: 404 without an invitation, or if it has expired or its sender may no longer invite.
        """
        with self._database.change() as connection:
            number = _number(connection, organisation, lock=True)
            own, sender = accounts.alias(), accounts.alias()
            query = (
                select(invitations, own.c.id.label("number"), sender.c.name.label("sender"))
                .join(own, own.c.id == invitations.c.account_id)
                .join(sender, sender.c.id == invitations.c.invited_by)
                .where(invitations.c.organisation_id == number, own.c.name == account)
            )
            row = connection.execute(query).one_or_none()
            if (
                row is None
                or row.expires <= int(self._clock())
                or not _may(connection, organisation, row.sender, "invite")
            ):
                raise _unknown(organisation)
            _remove(connection, invitations, row.organisation_id, row.number)
            values = {"organisation_id": row.organisation_id, "account_id": row.number, "role": row.role}
            connection.execute(insert(memberships).values(**values, since=int(self._clock())))
            role: Role = row.role
            return role

    def remove(self, organisation: str, account: str, by: str) -> None:
        """Remove a member, or withdraw or decline an invitation; everybody may do so to themselves.

        Raises:
            Problem: 404 to strangers and where there is nothing to remove, 403 if the role of ``by`` does not allow it,
                409 if nobody would own the organisation any more.
        """
        with self._database.change() as connection:
            if account == by:
                number = _number(connection, organisation, lock=True)
            else:
                number = _checked(connection, organisation, by, "remove", lock=True)
            row = connection.execute(select(accounts.c.id).where(accounts.c.name == account)).one_or_none()
            if number is None or row is None:
                raise _unknown(organisation)
            if _role(connection, organisation, account) == "owner":
                _check_not_last(connection, number, organisation)
            gone = _remove(connection, memberships, number, row.id) + _remove(connection, invitations, number, row.id)
            if not gone:
                is_member = _role(connection, organisation, by) is not None
                detail = f"{account[:60]!a} is no member of {organisation}, nor invited"
                raise Problem(HTTPStatus.NOT_FOUND, detail) if is_member else _unknown(organisation)


def _unknown(organisation: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, f"there is no organisation {organisation[:60]!a} for you")


def _number(connection: Connection, organisation: str, lock: bool = False) -> int | None:
    """Return the number of an organisation; None if there is none.

    Args:
        connection: a transaction.
        organisation: its name.
        lock: whether other transactions that change its members must wait. SQLite lets only one write in any case.
    """
    query = select(organisations.c.account_id).where(
        organisations.c.account_id == select(accounts.c.id).where(accounts.c.name == organisation).scalar_subquery()
    )
    return connection.execute(query.with_for_update() if lock else query).scalar_one_or_none()


def _role(connection: Connection, organisation: str, account: str) -> Role | None:
    org = accounts.alias()
    query = (
        select(memberships.c.role)
        .join(org, org.c.id == memberships.c.organisation_id)
        .join(accounts, accounts.c.id == memberships.c.account_id)
        .where(org.c.name == organisation, accounts.c.name == account)
        .where(org.c.disabled.is_(None), accounts.c.disabled.is_(None))
    )
    role: Role | None = connection.execute(query).scalar_one_or_none()
    return role


def _may(connection: Connection, organisation: str, account: str, act: Act) -> bool:
    return may(_role(connection, organisation, account), act)


def _checked(connection: Connection, organisation: str, by: str, act: Act, lock: bool = False) -> int:
    """Return the number of an organisation in which an account may do something.

    Raises:
        Problem: 404 if it is no member, 403 if its role does not allow that.
    """
    number = _number(connection, organisation, lock)
    role = _role(connection, organisation, by)
    if number is None or role is None:
        raise _unknown(organisation)
    if not may(role, act):
        raise Problem(HTTPStatus.FORBIDDEN, f"{by} is a {role} of {organisation}, which does not allow that ({act})")
    return number


def _check_not_last(connection: Connection, number: int, organisation: str) -> None:
    query = (
        select(func.count())
        .select_from(memberships)
        .join(accounts, accounts.c.id == memberships.c.account_id)
        .where(memberships.c.organisation_id == number, memberships.c.role == "owner", accounts.c.disabled.is_(None))
    )
    if connection.execute(query).scalar_one() <= 1:
        raise Problem(
            HTTPStatus.CONFLICT, f"{organisation} would have no owner any more; make another member an owner first"
        )


def _remove(connection: Connection, table: Any, number: int, account: int) -> int:
    where = (table.c.organisation_id == number, table.c.account_id == account)
    return int(connection.execute(delete(table).where(*where)).rowcount)
