"""Databases and knowledge graphs, generated: ``db:*`` and ``kg:*``. See the manifest ``environments.toml``."""

__version__ = "0.1.0"
