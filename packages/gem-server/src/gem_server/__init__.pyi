from gem_server.client.remote_env import RemoteEnv as RemoteEnv
from gem_server.client.resolver import resolve as resolve
from gem_server.client.vector import ServerVectorEnv as ServerVectorEnv
from gem_server.server import EnvironmentServer as EnvironmentServer
from gem_server.server import served_specs as served_specs
from gem_server.settings import ServingSettings as ServingSettings

__version__: str
