"""Reasoning Gym's tasks through the class that verifiers itself brings."""

import verifiers as vf
from verifiers.envs.integrations.reasoninggym_env import ReasoningGymEnv


def load_environment(gym: str = "basic_arithmetic", rows: int = 20) -> vf.Environment:
    """A family of tasks."""
    return ReasoningGymEnv(gym=gym, num_train_examples=rows, num_eval_examples=5, seed=3)
