from gem_envs_web.shop.env import ShopEnv as ShopEnv
from gem_envs_web.shop.webshop import WebShopEnv as WebShopEnv

__version__: str
