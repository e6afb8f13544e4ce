"""Programming problems for language-model agents, judged in a sandbox.

Everything here loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_envs_code.code_env import CodeEnv
    from gem_envs_code.mini import MiniEnv

__version__ = "0.1.0"

__all__ = ["CodeEnv", "MiniEnv", "__version__"]

_HOMES = {"CodeEnv": "gem_envs_code.code_env", "MiniEnv": "gem_envs_code.mini"}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
