"""Service desks with tools, policies and simulated users: ``desk:*``. See the manifest ``environments.toml``."""

__version__ = "0.1.0"
