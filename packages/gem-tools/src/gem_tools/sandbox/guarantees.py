"""What each tier of isolation keeps a program from, by name: :data:`GUARANTEES`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GUARANTEES", "TIERS", "Guarantee", "describe_missing", "missing_guarantees"]

TIERS = ("jail", "restricted", "plain")
"""The tiers, the strongest first. ``"jail"``: namespaces, seccomp, limits. ``"restricted"``: Landlock, seccomp, limits,
for containers, without any privilege. ``"plain"``: a subprocess with limits."""


class Guarantee(NamedTuple):
    """Something that a program cannot do."""

    name: str
    without: str
    """What a program can do in a tier that does not give the guarantee."""
    tiers: tuple[str, ...]
    """The tiers that give it."""


_STRONG = TIERS[:2]

GUARANTEES = (
    Guarantee("files read", "read this user's files, the answers of environments among them", _STRONG),
    Guarantee("files written", "change and delete this user's files", _STRONG),
    Guarantee("network", "use the network and the sockets of this machine", _STRONG),
    Guarantee("signals", "end this process and others of this user, or change their limits and priorities", _STRONG),
    Guarantee("memory of others", "read this process's environment variables and memory", _STRONG),
    Guarantee("other executions", "read and change the files of other executions", _STRONG),
    Guarantee("leftovers", "leave processes behind", _STRONG),
    Guarantee("memory together", "use its limit of memory in each of its processes", _STRONG),
    Guarantee("disk together", "fill the disk with many files", _STRONG),
    Guarantee(
        "quotas",
        "use up what the kernel counts for each user, such as buffers of pipes, and before Linux 5.5 processes, unless "
        "this is root",
        ("jail",),
    ),
    Guarantee("names", "see which files and processes exist, with sizes and times, but not their contents", ("jail",)),
    Guarantee(
        "strictness",
        "exceed its limits of memory and disk, and before Linux 5.5 that of processes, for 0.1 s, and the limit of "
        "disk with open files without a name",
        ("jail",),
    ),
)
"""What a program cannot do in the tiers that give the guarantee. The jail gives all of them."""


def missing_guarantees(tier: str) -> list[Guarantee]:
    """Return the guarantees that a tier does not give."""
    return [guarantee for guarantee in GUARANTEES if tier not in guarantee.tiers]


def describe_missing(tier: str) -> str:
    """Return what a program can do in a tier that it could not do in a jail, as a part of a sentence."""
    *first, last = (guarantee.without for guarantee in missing_guarantees(tier))
    return f"{'; '.join(first)}; and {last}"
