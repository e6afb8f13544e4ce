from gem_envs_web.browser.env import BrowserEnv as BrowserEnv
from gem_envs_web.browser.miniwob import MiniWobEnv as MiniWobEnv
from gem_envs_web.form.env import FormEnv as FormEnv
from gem_envs_web.forum.env import ForumEnv as ForumEnv
from gem_envs_web.shop.env import ShopEnv as ShopEnv
from gem_envs_web.shop.webshop import WebShopEnv as WebShopEnv

__version__: str
