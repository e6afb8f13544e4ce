from gem_bridges.verifiers.outward import GemTaskset as GemTaskset
from gem_bridges.verifiers.outward import InProcessChat as InProcessChat
from gem_bridges.verifiers.outward import UserPlay as UserPlay

__version__: str
