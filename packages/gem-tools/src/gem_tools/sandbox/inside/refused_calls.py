"""The system calls that executed code may make, as seccomp filters.

A program gets :data:`gem_processes.seccomp.ORDINARY` and sockets that stay in its execution: with a path or a name, and
those of TCP and UDP in a network of its own. All other calls are refused, those of future kernels among them.
"""

from __future__ import annotations

from collections.abc import Collection

from gem_processes.seccomp import (
    NO_NEW_NAMESPACES,
    ORDINARY,
    ORDINARY_RULES,
    WITHOUT_EFFECT,
    ArgumentRule,
    allow_program,
    restrict_program,
)

__all__ = ["IGNORED", "execution_filter", "program_filter", "server_filter"]

IGNORED = WITHOUT_EFFECT | {"flock"}
"""Calls of executions that succeed without effect. A lock on a file that all of them may read would carry messages
between them, and keep its owner from locking it."""

_NEEDED_TO_CONFINE = ("mount", "setns", "unshare")
"""Calls that the fork server needs to confine an execution, and that the execution then loses."""
_SET_INTERFACE_FLAGS = 0x8914
"""SIOCSIFFLAGS of ``ioctl``, by which the fork server enables the loopback of a new network."""
_SOCKETS = ("accept", "accept4", "bind", "connect", "listen", "socket")
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_NAMESPACED_FAMILIES = (_AF_UNIX, _AF_INET, _AF_INET6)
"""Families that have namespaces; sockets of virtual machines, for example, have none."""
_PRCTL_RULES = tuple(rule for rule in ORDINARY_RULES if rule.call == "prctl")
"""The fork server still needs prctl, to install the filter of an execution."""
_IOCTL_RULES = tuple(rule for rule in ORDINARY_RULES if rule.call == "ioctl")
_OPTION_RULES = tuple(rule for rule in ORDINARY_RULES if rule.call == "setsockopt")
_SOL_SOCKET, _SOL_IPV6, _IPV6_V6ONLY = 1, 41, 26
_IPV6_OPTION_RULES = (
    *(rule._replace(when=(1, _SOL_SOCKET)) for rule in _OPTION_RULES if rule.argument == 2),
    ArgumentRule("setsockopt", 1, (_SOL_SOCKET, _SOL_IPV6), error=0),
    ArgumentRule("setsockopt", 2, (_IPV6_V6ONLY,), error=0, when=(1, _SOL_IPV6)),
)
"""Servers of IPv6 and IPv4 at one port rely on IPV6_V6ONLY. Groups and flow labels of IPv6 stay without effect."""


def server_filter(families: Collection[int]) -> bytes:
    """Return the filter that a fork server installs once and every execution inherits.

    Args:
        families: of the internet, ``AF_INET`` and ``AF_INET6``: those in which executions have addresses of their own.

    Raises:
        OSError: on a machine with unknown system call numbers.
    """
    rules = [rule for rule in ORDINARY_RULES if rule not in (*_PRCTL_RULES, *_IOCTL_RULES, *_OPTION_RULES)]
    rules += _IPV6_OPTION_RULES if _AF_INET6 in families else _OPTION_RULES
    rules += [rule._replace(values=(*rule.values, _SET_INTERFACE_FLAGS)) if families else rule for rule in _IOCTL_RULES]
    # As for pairs of sockets. Names of these sockets lie in an execution's scratch folder or its network namespace.
    for rule in [rule for rule in rules if rule.call == "socketpair"]:
        if rule.argument == 0:
            rules.append(rule._replace(call="socket", values=(_AF_UNIX, *families)))
        else:
            rules.append(rule._replace(call="socket", when=(0, _AF_UNIX)))
    for family in families:  # streams and datagrams, of TCP and UDP
        rules.append(ArgumentRule("socket", 1, (1, 2), mask=0xF, when=(0, family)))
        rules.append(ArgumentRule("socket", 2, (0, 6, 17), when=(0, family)))
    allowed = {*ORDINARY, *_SOCKETS, *_NEEDED_TO_CONFINE}
    return allow_program(allowed, rules=rules, without_effect=IGNORED, kill_foreign=True)


def execution_filter() -> bytes:
    """Return the filter that confines each execution further; it is short, because each installs it anew."""
    interfaces = ArgumentRule("ioctl", 1, (_SET_INTERFACE_FLAGS,), refuses=True)
    return restrict_program(_NEEDED_TO_CONFINE, rules=(NO_NEW_NAMESPACES, interfaces, *_PRCTL_RULES), kill_foreign=True)


def program_filter() -> bytes:
    """Return the filter of a whole program in namespaces of its own, which may use sockets there.

    Raises:
        OSError: on a machine with unknown system call numbers.
    """
    rules = [rule for rule in ORDINARY_RULES if rule.call in ("fcntl", "prctl")]
    rules += [ArgumentRule(call, 0, _NAMESPACED_FAMILIES) for call in ("socket", "socketpair")]
    return allow_program({*ORDINARY, *_SOCKETS}, rules=(*rules, NO_NEW_NAMESPACES), kill_foreign=True)
