"""The system calls that executed code may make, as seccomp filters.

A program gets :data:`gem_processes.seccomp.ORDINARY` and sockets that stay in its execution: with a path or a name, and
those of TCP and UDP in a network of its own. All other calls are refused, those of future kernels among them.
"""

from __future__ import annotations

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
_NAMESPACED_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6, which have namespaces; sockets of virtual machines, for example, have none."""
_AF_UNIX, _AF_INET = 1, 2
_INTERNET = (
    ArgumentRule("socket", 1, (1, 2), mask=0xF, when=(0, _AF_INET)),
    ArgumentRule("socket", 2, (0, 6, 17), when=(0, _AF_INET)),
)
"""Streams and datagrams, of TCP and UDP."""
_PRCTL_RULES = tuple(rule for rule in ORDINARY_RULES if rule.call == "prctl")
"""The fork server still needs prctl, to install the filter of an execution."""


def server_filter(*, has_network: bool) -> bytes:
    """Return the filter that a fork server installs once and every execution inherits.

    Args:
        has_network: whether executions have networks of their own, with an address of IPv4.

    Raises:
        OSError: on a machine with unknown system call numbers.
    """
    rules = [rule for rule in ORDINARY_RULES if rule not in _PRCTL_RULES]
    # As for pairs of sockets. Names of these sockets lie in an execution's scratch folder or its network namespace.
    for rule in [rule for rule in rules if rule.call == "socketpair"]:
        if has_network and rule.argument == 0:
            rules.append(rule._replace(call="socket", values=(_AF_UNIX, _AF_INET)))
        else:
            rules.append(rule._replace(call="socket", when=(0, _AF_UNIX) if has_network else None))
    if has_network:
        rules += _INTERNET
        (ioctl,) = (rule for rule in rules if rule.call == "ioctl")
        rules[rules.index(ioctl)] = ioctl._replace(values=(*ioctl.values, _SET_INTERFACE_FLAGS))
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
