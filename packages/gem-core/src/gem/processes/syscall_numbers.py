"""The numbers of Linux's system calls, from ``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64)."""

from __future__ import annotations

import platform

__all__ = ["MACHINE", "MACHINES", "NUMBERS", "numbers_on"]

MACHINES = ("x86_64", "aarch64")
"""The supported machines, in the order of the columns of :data:`NUMBERS`."""

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
"""The name of this machine."""

NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # None: the machine does not have the call.
    "_sysctl": (156, None),
    "accept": (43, 202),
    "accept4": (288, 242),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bind": (49, 200),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close_range": (436, 436),
    "connect": (42, 203),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "listen": (50, 201),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}


def numbers_on(machine: str = MACHINE) -> dict[str, int]:
    """Return the numbers of a machine's system calls; empty for a machine that is not in :data:`MACHINES`."""
    if machine not in MACHINES:
        return {}
    column = MACHINES.index(machine)
    return {name: number for name, both in NUMBERS.items() if (number := both[column]) is not None}
