from gem_ray.sharded_rollout import ShardedRollout as ShardedRollout
from gem_ray.sharded_rollout import rollout as rollout
from gem_ray.vector_env import RayVectorEnv as RayVectorEnv

__version__: str
