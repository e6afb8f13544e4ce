from gem_envs_reasoning.reasoning_gym_env import ReasoningGymEnv as ReasoningGymEnv

__version__: str
