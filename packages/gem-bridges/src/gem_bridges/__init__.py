"""Environments of other frameworks as ids of GEM; ``environments.toml`` lists their prefixes.

verifiers looks for its plugins in a package of the name that the user gives, so its classes are names of this package.
They load on first use.
"""

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
