from gem_ray.vector_env import RayVectorEnv as RayVectorEnv

__version__: str
