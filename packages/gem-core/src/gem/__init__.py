r"""GEM, the General Experience Maker: environments for language-model agents.

::

    import gem

    env = gem.make("game:Sudoku-v0-easy")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step("\\boxed{1 2 3}")

Everything here loads on first use (PEP 562); importing ``gem`` costs next to nothing.
"""

from gem import migration
from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem.core import Env, Wrapper
    from gem.env_spec import EnvSpec
    from gem.errors import GemError
    from gem.multiagent import AgentSelector, MultiAgentEnv
    from gem.policies import Policy, make_policy
    from gem.registry import all_specs, make, print_envs, register, spec, unregister
    from gem.trajectory import Trajectory, Transition
    from gem.vector import VectorEnv, make_vec
    from gem.wrappers import wrapper

__version__ = "0.1.0"

__all__ = [
    "AgentSelector",
    "Env",
    "EnvSpec",
    "GemError",
    "MultiAgentEnv",
    "Policy",
    "Trajectory",
    "Transition",
    "VectorEnv",
    "Wrapper",
    "all_specs",
    "make",
    "make_policy",
    "make_vec",
    "print_envs",
    "register",
    "spec",
    "unregister",
    "wrapper",
]

_HOMES = {
    "AgentSelector": "gem.multiagent",
    "Env": "gem.core",
    "EnvSpec": "gem.env_spec",
    "GemError": "gem.errors",
    "MultiAgentEnv": "gem.multiagent",
    "Policy": "gem.policies",
    "Trajectory": "gem.trajectory",
    "Transition": "gem.trajectory",
    "VectorEnv": "gem.vector",
    "Wrapper": "gem.core",
    "all_specs": "gem.registry",
    "make": "gem.registry",
    "make_policy": "gem.policies",
    "make_vec": "gem.vector",
    "print_envs": "gem.registry",
    "register": "gem.registry",
    "spec": "gem.registry",
    "unregister": "gem.registry",
    "wrapper": "gem.wrappers",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)

migration.install()
