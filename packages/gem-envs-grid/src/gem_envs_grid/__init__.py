"""Bandits and grid worlds for language-model agents; ``environments.toml`` lists them."""

__version__ = "0.1.0"
