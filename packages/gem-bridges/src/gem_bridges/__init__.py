"""Environments of other frameworks as ids of GEM; ``environments.toml`` lists their prefixes."""

__version__ = "0.1.0"
