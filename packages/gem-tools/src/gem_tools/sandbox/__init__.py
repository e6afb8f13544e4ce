"""Running untrusted Python, safely and fast.

::

    from gem_tools.sandbox import default_sandbox

    done = default_sandbox().run("print(6 * 7)")
    done.ok, done.stdout                       # True, "42" and a line break

On Linux a program runs in a jail built from kernel features: user, process, mount, network and IPC namespaces, a
list of allowed system calls, and no capabilities. It sees the system's programs and libraries, the interpreter and the
installed packages, read-only, and an empty scratch folder; no network but its own, no other processes, no environment
variables of this process, no packages of environments or their data. Executions cannot reach each other. The time,
memory, processes, files and output of each are limited (:class:`Limits`), and all its child processes end with it.
Programs are forked from warm servers that have already imported common modules.

The jail does not protect from defects of the shared kernel, from programs that measure the activity of others on
the processor, or from a program that forges its own output. Never let code under test compute its own reward: judge
its output (:meth:`Sandbox.run_many`).

Where no namespaces can be had, as in most containers, programs run restricted by Landlock, a filter of system calls and
limits; without Landlock, in plain subprocesses. In both cases a :class:`SandboxWarning` names everything that the jail
would prevent and the tier does not (:mod:`gem_tools.sandbox.guarantees`); ``mode="required"`` raises an error instead.
"""

from __future__ import annotations

from gem_tools.sandbox.errors import InfrastructureError, SandboxError, SandboxWarning
from gem_tools.sandbox.execution import Execution
from gem_tools.sandbox.limits import Limits
from gem_tools.sandbox.original import run_python
from gem_tools.sandbox.sandbox import Sandbox, default_sandbox
from gem_tools.sandbox.session import Session

__all__ = [
    "Execution",
    "InfrastructureError",
    "Limits",
    "Sandbox",
    "SandboxError",
    "SandboxWarning",
    "Session",
    "default_sandbox",
    "run_python",
]
