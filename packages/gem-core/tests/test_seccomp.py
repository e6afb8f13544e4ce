"""Filters of system calls: what they decide, instruction by instruction, on both machines."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.processes.seccomp import ADMINISTRATION, filter_program
from gem.processes.syscall_numbers import MACHINES, NUMBERS, numbers_on

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
REFUSED, MISSING = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
NEW_USER_NAMESPACE = 0x10000000
NEW_NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, NEW_USER_NAMESPACE, 0x20000000, 0x40000000)
"""Time, mount, cgroup, UTS, IPC, user, process and network: the flags of ``linux/sched.h``."""
UNKNOWN = 9999
"""A number that no call of the table has."""

names = st.frozensets(st.sampled_from(sorted(NUMBERS.keys() - {"clone", "clone3"})))
machines = st.sampled_from(MACHINES)


def decision(program: bytes, machine: str, number: int, argument: int = 0, architecture: int | None = None) -> int:
    """Run a filter as the kernel does, on a call; return its action."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    data = struct.pack("=IIQQ", number, architecture or ARCHITECTURES[machine], 0, argument)
    loaded, place = 0, 0
    while True:
        code, holds, fails, operand = instructions[place]
        place += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            return operand
        else:
            fact = {0x15: loaded == operand, 0x35: loaded >= operand, 0x45: bool(loaded & operand)}[code]
            place += holds if fact else fails


@given(names, machines)
def test_a_filter_refuses_the_calls_of_its_list_and_no_others(refused: frozenset[str], machine: str) -> None:
    """A refused call gets EPERM, every other one passes, and so does a number that is in no table."""
    program = filter_program(refused, machine=machine)
    for name, number in numbers_on(machine).items():
        expected = MISSING if name == "clone3" else REFUSED if name in refused else ALLOWED
        assert decision(program, machine, number) == expected, name
    assert decision(program, machine, UNKNOWN) == ALLOWED


@given(names, machines, st.booleans())
def test_numbers_of_another_architecture_never_pass(refused: frozenset[str], machine: str, kill: bool) -> None:
    """They would mean other calls, so they fail or kill; the x32 interface's count among them."""
    program = filter_program(refused, machine=machine, kill_foreign=kill)
    expected = KILLED if kill else MISSING
    assert decision(program, machine, UNKNOWN, architecture=I386) == expected
    assert decision(program, machine, 0x40000000 | UNKNOWN) == expected


@given(names, machines)
def test_namespaces_and_families_are_refused_by_the_argument(refused: frozenset[str], machine: str) -> None:
    """Clone may make a thread and no namespace, unless that is allowed; socket is refused some families alone."""
    numbers = numbers_on(machine)
    program = filter_program(refused - {"socket"}, machine=machine, refused_families=[40, 16])
    for flag in NEW_NAMESPACES:
        assert decision(program, machine, numbers["clone"], flag | 17) == REFUSED
    assert decision(program, machine, numbers["clone"], 0x3D0F00) == ALLOWED
    assert [decision(program, machine, numbers["socket"], family) for family in (40, 16, 2)] == [
        REFUSED, REFUSED, ALLOWED,
    ]  # fmt: skip
    program = filter_program(refused, machine=machine, allow_new_namespaces=True)
    assert decision(program, machine, numbers["clone"], NEW_USER_NAMESPACE | 17) == ALLOWED
    assert decision(program, machine, numbers["clone3"]) == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_the_longest_filter_fits(machine: str) -> None:
    """A filter of every known call has no jump that an instruction cannot hold."""
    assert decision(filter_program(NUMBERS, machine=machine), machine, UNKNOWN) == ALLOWED


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_for_two_calls(machine: str) -> None:
    """The table of a machine is one to one, and knows every call of the common list that the machine has."""
    numbers = numbers_on(machine)
    assert len(set(numbers.values())) == len(numbers)
    assert ADMINISTRATION - numbers.keys() <= {"ioperm", "iopl"}


def test_what_is_not_known_is_an_error() -> None:
    """Neither an unknown machine nor a misspelt call yields a filter that lets something pass."""
    with pytest.raises(OSError, match="riscv64"):
        filter_program(["mount"], machine="riscv64")
    with pytest.raises(KeyError, match="mout"):
        filter_program(["mout"], machine="x86_64")
