from gem_envs_qa.atlas.env import AtlasEnv as AtlasEnv
from gem_envs_qa.qa_env import QaEnv as QaEnv
from gem_envs_qa.rule_worlds.env import RuleWorldsEnv as RuleWorldsEnv

__version__: str
