from gem_envs_swe.env import SweEnv as SweEnv
from gem_envs_swe.row import SweRow as SweRow

__version__: str
