"""Every data set of reasoning-gym as an environment for language-model agents, scored safely."""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_envs_reasoning.reasoning_gym_env import ReasoningGymEnv

__version__ = "0.1.0"

__all__ = ["ReasoningGymEnv", "__version__"]

__getattr__, __dir__ = loaded_on_use(globals(), {"ReasoningGymEnv": "gem_envs_reasoning.reasoning_gym_env"})
