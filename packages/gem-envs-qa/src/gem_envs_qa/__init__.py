"""Question answering and logic for language-model agents: a generated world, rule worlds, the published data sets."""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_envs_qa.atlas.env import AtlasEnv
    from gem_envs_qa.qa_env import QaEnv
    from gem_envs_qa.rule_worlds.env import RuleWorldsEnv

__all__ = ["AtlasEnv", "QaEnv", "RuleWorldsEnv"]

__version__ = "0.1.0"

_HOMES = {
    "AtlasEnv": "gem_envs_qa.atlas.env",
    "QaEnv": "gem_envs_qa.qa_env",
    "RuleWorldsEnv": "gem_envs_qa.rule_worlds.env",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
