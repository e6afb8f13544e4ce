"""Programming problems for language-model agents, judged in a sandbox.

Everything here loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
