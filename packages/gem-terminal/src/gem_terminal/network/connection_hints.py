"""Verdicts of 0.0 that a missing network or a missing server may explain: :func:`connection_hint`."""

from __future__ import annotations

import re

from gem_terminal.verdicts.verifier_result import VerifierResult

__all__ = ["connection_hint"]

_UNREACHABLE = re.compile(
    r"could not resolve|couldn.t resolve|temporary failure (?:in name resolution|resolving)|name or service not known"
    r"|nodename nor servname|network is unreachable|no address associated with hostname|EAI_AGAIN|ENOTFOUND|ENETUNREACH"
    r"|failed to lookup address|dns error|unable to resolve host address|bad address '"
    r"|failed to establish a new connection: \[Errno (?:-\d|101)|no such host|server misbehaving",
    re.IGNORECASE,
)
"""Messages of curl, wget, apt, pip, uv, npm, git, Go, Rust and the C library about a host that cannot be reached."""

_REFUSED = re.compile(
    r"connection refused|ECONNREFUSED|ConnectionRefusedError|couldn.t connect to server"
    r"|failed to connect to (?:localhost|127\.0\.0\.1|::1)",
    re.IGNORECASE,
)
"""Messages about a server that does not listen."""


def connection_hint(result: VerifierResult, *, has_network: bool, kept: bool) -> str | None:
    """Return why the tests may have failed for want of a connection, with the option that helps, or None.

    Only a reward of 0.0 has a hint. The output of the tests decides, which an agent may influence: the hint is for
    people and changes no reward.

    Args:
        result: the result of the tests.
        has_network: whether the tests had a network.
        kept: whether the agent's processes continued during the tests.
    """
    if result.reward != 0.0:
        return None
    if (found := _UNREACHABLE.search(result.log)) is not None:
        said = _line(result.log, found)
        if has_network:
            return f"the tests could not reach a host ({said!r}), although the task has the machine's network"
        return f"the tests tried to reach the network ({said!r}), and the task has none; network=True gives it one"
    if not kept and (found := _REFUSED.search(result.log)) is not None:
        said = _line(result.log, found)
        return (
            f"a connection of the tests was refused ({said!r}), and the agent's processes were killed before the "
            "tests; keep_processes=True lets a server of the agent continue"
        )
    return None


def _line(log: str, found: re.Match[str]) -> str:
    """Return the line of a match, shortened around it."""
    begin = max(log.rfind("\n", 0, found.start()) + 1, found.start() - 60)
    end = log.find("\n", found.end())
    return log[begin : min(found.end() + 60, len(log) if end < 0 else end)].strip()
