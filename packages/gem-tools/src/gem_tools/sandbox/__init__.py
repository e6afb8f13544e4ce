"""Running untrusted Python, safely and fast.

::

    from gem_tools.sandbox import default_sandbox

    done = default_sandbox().run("print(6 * 7)")
    done.ok, done.stdout                       # True, "42" and a line break

On Linux a program runs in a jail made of the kernel's own parts: user, process, mount and network namespaces, a
filter of system calls, no capabilities. It sees the interpreter and the installed packages, read-only, and an empty
scratch folder; no network, no other processes, no environment variables of this process. Its time, memory, processes,
files and output are limited (:class:`Limits`), and when it ends or is ended, everything that it has started is gone.
Programs are forked from warm servers that have the usual modules imported already.

What the jail does not protect from: defects of the kernel, which is shared; a program that measures what others do to
the processor; a program's tampering with its own output. Never let code under test compute its own reward: judge what
it printed (:meth:`Sandbox.run_many`).

Where no jail can be had (no Linux, or user namespaces forbidden, as in most containers) programs run in plain
subprocesses with fewer limits, and a :class:`SandboxWarning` says what that does not protect from; ``mode="required"``
refuses instead.
"""

from __future__ import annotations

from gem_tools.sandbox.errors import SandboxError, SandboxWarning
from gem_tools.sandbox.execution import Execution
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.original import run_python
from gem_tools.sandbox.sandbox import Sandbox, default_sandbox
from gem_tools.sandbox.session import Session

__all__ = [
    "Execution",
    "Limits",
    "Sandbox",
    "SandboxError",
    "SandboxWarning",
    "Session",
    "default_sandbox",
    "run_python",
]
