"""The roles of an organisation's members, and what each of them may do."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["ACTS", "ROLES", "Act", "Role", "may"]

Role = Literal["owner", "maintainer", "member"]
Act = Literal["read", "publish", "yank", "deprecate", "results", "owners", "invite", "role", "remove"]

ROLES: tuple[Role, ...] = get_args(Role)

ACTS: dict[Act, tuple[Role, ...]] = {
    "read": ("owner", "maintainer", "member"),
    "publish": ("owner", "maintainer"),
    "yank": ("owner", "maintainer"),
    "deprecate": ("owner", "maintainer"),
    "results": ("owner", "maintainer"),
    "owners": ("owner",),
    "invite": ("owner",),
    "role": ("owner",),
    "remove": ("owner",),
}
"""Act → the roles that may do it. ``read`` is of private packages, ``results`` admits what others publish about
a package, ``owners`` changes the owners and the trusted
publishers of a package, and the last three change the organisation itself. Everybody may leave but the last owner."""


def may(role: Role | None, act: Act) -> bool:
    """Return whether a role may do something; None is no member."""
    return role in ACTS[act]
