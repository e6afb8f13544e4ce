"""A laboratory for language-model agents; ``environments.toml`` lists its environments."""

__version__ = "0.1.0"
