from gem.core import Env as Env
from gem.core import Wrapper as Wrapper
from gem.env_spec import EnvSpec as EnvSpec
from gem.errors import GemError as GemError
from gem.multiagent import AgentSelector as AgentSelector
from gem.multiagent import MultiAgentEnv as MultiAgentEnv
from gem.policies import Policy as Policy
from gem.policies import make_policy as make_policy
from gem.registry import all_specs as all_specs
from gem.registry import make as make
from gem.registry import print_envs as print_envs
from gem.registry import register as register
from gem.registry import spec as spec
from gem.registry import unregister as unregister
from gem.text_env import TextEnv as TextEnv
from gem.trajectory import Trajectory as Trajectory
from gem.trajectory import Transition as Transition
from gem.vector import VectorEnv as VectorEnv
from gem.vector import make_vec as make_vec
from gem.wrappers import wrapper as wrapper

__version__: str
