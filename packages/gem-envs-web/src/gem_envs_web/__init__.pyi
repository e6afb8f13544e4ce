from gem_envs_web.shop.env import ShopEnv as ShopEnv

__version__: str
