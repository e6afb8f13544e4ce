from gem_envs_code.code_env import CodeEnv as CodeEnv
from gem_envs_code.mini import MiniEnv as MiniEnv

__version__: str
