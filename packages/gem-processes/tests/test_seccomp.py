"""Filters of system calls: what they decide, instruction by instruction, on both machines."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_processes.seccomp import (
    ADMINISTRATION,
    NO_NEW_NAMESPACES,
    ORDINARY,
    ORDINARY_RULES,
    WITHOUT_EFFECT,
    ArgumentRule,
    allow_program,
    restrict_program,
)
from gem_processes.syscall_numbers import MACHINES, NUMBERS, numbers_on

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
DONE, REFUSED, MISSING = 0x00050000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
NEW_USER_NAMESPACE = 0x10000000
NEW_NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, NEW_USER_NAMESPACE, 0x20000000, 0x40000000)
"""Time, mount, cgroup, UTS, IPC, user, process and network: the flags of ``linux/sched.h``."""
UNKNOWN = (9999, 1023, max(number or 0 for both in NUMBERS.values() for number in both) + 1)
"""Numbers that no call of the table has; the last is that of the next call that Linux gets."""

names = st.frozensets(st.sampled_from(sorted(NUMBERS.keys() - {"clone", "clone3"})))
machines = st.sampled_from(MACHINES)


def decision(program: bytes, machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Run a filter as the kernel does, on a call; return its action."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    given_arguments = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *given_arguments)
    loaded, place = 0, 0
    while True:
        code, holds, fails, operand = instructions[place]
        place += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, operand)
        elif code == 0x54:
            loaded &= operand
        elif code == 0x05:
            place += operand
        elif code == 0x06:
            return operand
        else:
            place += holds if {0x15: loaded == operand, 0x35: loaded >= operand}[code] else fails


@given(names, machines)
def test_a_filter_allows_the_calls_of_its_list_and_no_others(allowed: frozenset[str], machine: str) -> None:
    """Every other call of the table gets EPERM, and a number outside of the table ENOSYS."""
    program = allow_program(allowed, machine=machine, rules=(), without_effect=())
    for name, number in numbers_on(machine).items():
        expected = MISSING if name == "clone3" else ALLOWED if name in allowed else REFUSED
        assert decision(program, machine, number) == expected, name
    assert {decision(program, machine, number) for number in UNKNOWN} == {MISSING}


@given(names, names, machines)
def test_a_second_filter_only_takes_away(allowed: frozenset[str], refused: frozenset[str], machine: str) -> None:
    """It refuses what it names, has no say on anything else, and lets nobody make a namespace."""
    program = restrict_program(refused, machine=machine)
    for name in allowed - {"clone"}:
        if name in numbers_on(machine):
            expected = REFUSED if name in refused else ALLOWED
            assert decision(program, machine, numbers_on(machine)[name]) == expected, name
    assert decision(program, machine, numbers_on(machine)["clone"], NEW_USER_NAMESPACE) == REFUSED
    assert decision(program, machine, UNKNOWN[0]) == ALLOWED


@given(names, machines, st.booleans())
def test_numbers_of_another_architecture_never_pass(allowed: frozenset[str], machine: str, kill: bool) -> None:
    """They would mean other calls, so they fail or kill; the x32 interface's count among them."""
    expected = KILLED if kill else MISSING
    for build in (allow_program, restrict_program):
        program = build(allowed, machine=machine, kill_foreign=kill)
        assert decision(program, machine, 1, architecture=I386) == expected
        assert decision(program, machine, 0x40000000 | 1) == expected


@given(
    machines,
    st.sampled_from(sorted(ORDINARY - {"clone"} - {rule.call for rule in ORDINARY_RULES})),
    st.integers(0, 5),
    st.frozensets(st.integers(0, 300), max_size=40),
    st.integers(0, 300),
    st.sampled_from([0, errno.EPERM, errno.ENOTTY]),
)
def test_a_rule_asks_for_one_argument(
    machine: str, call: str, argument: int, values: frozenset[int], value: int, error: int
) -> None:
    """Only the values of the rule pass, whatever the other arguments and the upper half of this one are."""
    if call not in numbers_on(machine):
        return
    program = allow_program([call], rules=[ArgumentRule(call, argument, values, error=error)], machine=machine)
    arguments = [7] * 6
    arguments[argument] = value | 1 << 40
    expected = ALLOWED if value in values else 0x00050000 | error
    assert decision(program, machine, numbers_on(machine)[call], *arguments) == expected


ORDINARY_CALLS = [
    ("clone", (0x3D0F00,), ALLOWED),  # a thread
    *(("clone", (flag | 17,), REFUSED) for flag in NEW_NAMESPACES),
    ("socketpair", (1, 1), ALLOWED),
    ("socketpair", (1, 1 | 0o2000000 | 0o4000), ALLOWED),  # with SOCK_CLOEXEC and SOCK_NONBLOCK
    ("socketpair", (1, 2), REFUSED),  # datagrams
    ("socketpair", (16, 1), REFUSED),
    ("socketpair", (40, 1), REFUSED),
    ("fcntl", (0, 3), ALLOWED),
    ("fcntl", (0, 1031), REFUSED),  # F_SETPIPE_SZ
    ("fcntl", (0, 1026), REFUSED),  # F_NOTIFY
    ("fcntl", (0, 1024), REFUSED),  # F_SETLEASE
    ("setsockopt", (0, 1, 20), ALLOWED),
    ("setsockopt", (0, 1, 7), DONE),  # SO_SNDBUF
    ("setsockopt", (0, 1, 26), DONE),  # SO_ATTACH_FILTER
    ("setsockopt", (0, 41, 20), DONE),  # IPV6_JOIN_GROUP, whose number is that of SO_RCVTIMEO
    ("setsockopt", (0, 6, 13), DONE),  # TCP_CONGESTION, whose number is that of SO_LINGER
    ("ioctl", (0, 0x5401), ALLOWED),
    ("ioctl", (0, 0x5412), 0x00050000 | errno.ENOTTY),  # TIOCSTI
    ("prctl", (15,), ALLOWED),
    ("prctl", (62,), 0x00050000 | errno.EINVAL),  # PR_SCHED_CORE
    ("prctl", (22,), 0x00050000 | errno.EINVAL),  # PR_SET_SECCOMP
    ("setpriority", (0, 0, 19), DONE),
    ("sync", (), DONE),
    *((name, (), REFUSED) for name in (
        "inotify_init1", "fanotify_init", "sched_setscheduler", "sched_setattr", "sched_setaffinity", "open_tree_attr",
        "io_setup", "mq_open", "shmget", "memfd_create", "socket", "connect", "bind", "ptrace", "unshare", "mount",
    )),
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
@given(first=st.integers(0, 2**64 - 1), third=st.sampled_from([0, 1, 1 << 31]), without_effect=st.booleans())
def test_a_rule_can_refuse_values_where_another_argument_has_a_value(
    machine: str, first: int, third: int, without_effect: bool
) -> None:
    """Other calls are decided as without the rule, those without effect too."""
    rule = ArgumentRule("utimensat", 0, (7, 9), refuses=True, when=(2, 0))
    calls = {"without_effect": ["utimensat"], "allowed": []} if without_effect else {"allowed": ["utimensat"]}
    program = allow_program(**calls, rules=[rule], machine=machine)  # type: ignore[arg-type]
    otherwise = decision(allow_program(**calls, machine=machine), machine, numbers_on(machine)["utimensat"])  # type: ignore[arg-type]
    for value in (first, 7, 9, (1 << 32) + 9):
        refused = value & 0xFFFFFFFF in (7, 9) and third == 0
        found = decision(program, machine, numbers_on(machine)["utimensat"], value, 0, third)
        assert found == (REFUSED if refused else otherwise)


@pytest.mark.parametrize("machine", MACHINES)
def test_ordinary_programs_get_no_more_than_they_need(machine: str) -> None:
    """Threads, stream pairs and locks pass; quotas of the user, other priorities and notifications do not."""
    program = allow_program(ORDINARY, machine=machine)
    numbers = numbers_on(machine)
    for name, arguments, expected in ORDINARY_CALLS:
        assert decision(program, machine, numbers[name], *arguments) == expected, (name, arguments)
    assert not ORDINARY & (ADMINISTRATION | WITHOUT_EFFECT)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_longest_filters_fit(machine: str) -> None:
    """Filters of every known call, and of every second one, have no jump that an instruction cannot hold."""
    everything = allow_program(NUMBERS, machine=machine)
    assert decision(everything, machine, UNKNOWN[0]) == MISSING
    numbers = numbers_on(machine)
    scattered = {name for name, number in numbers.items() if number % 2 and name != "clone3"}
    rules = [ArgumentRule(name, 0, (3,)) for name in scattered]
    program = allow_program(scattered, machine=machine, rules=rules, without_effect=())
    assert len(program) // 8 <= 4096
    for name in scattered:
        found = [decision(program, machine, numbers[name], value) for value in (3, 4)]
        assert found == [ALLOWED, REFUSED], name


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_for_two_calls(machine: str) -> None:
    """The table of a machine is one to one, and knows every call of the common list that the machine has."""
    numbers = numbers_on(machine)
    assert len(set(numbers.values())) == len(numbers)
    assert ADMINISTRATION - numbers.keys() <= {"ioperm", "iopl"}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_libseccomp(machine: str) -> None:
    """The library that containers use knows the same numbers, as far as it knows the calls."""
    path = ctypes.util.find_library("seccomp")
    if path is None:
        pytest.skip("NOT TESTED, the numbers: libseccomp is not installed")
    resolve = ctypes.CDLL(path).seccomp_syscall_resolve_name_arch
    known = {name: resolve(ctypes.c_uint32(ARCHITECTURES[machine]), name.encode()) for name in NUMBERS}
    known = {name: number for name, number in known.items() if number >= 0}
    assert len(known) > 280
    assert known.items() <= numbers_on(machine).items()


def test_what_is_not_known_is_an_error() -> None:
    """Neither an unknown machine nor a misspelt call yields a filter that lets something pass."""
    with pytest.raises(OSError, match="riscv64"):
        allow_program(["mount"], machine="riscv64")
    with pytest.raises(KeyError, match="mout"):
        allow_program(["mout"], machine="x86_64")
    with pytest.raises(KeyError, match="clon"):
        allow_program(["clone"], machine="x86_64", rules=[NO_NEW_NAMESPACES._replace(call="clon")])
