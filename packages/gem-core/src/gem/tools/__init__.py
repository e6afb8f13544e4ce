"""Tools that an agent can call while it works on a task, and the wrapper that answers the calls.

::

    from gem.tools import ToolEnvWrapper, tool

    @tool
    def add(a: int, b: int) -> int:
        \"\"\"Add two whole numbers.\"\"\"
        return a + b

    env = ToolEnvWrapper(gem.make("math:GSM8K"), [add])

Everything here loads on first use; pydantic only when a function is made a tool.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
