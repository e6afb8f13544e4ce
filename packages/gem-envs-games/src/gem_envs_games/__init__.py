"""Text games for language-model agents; see ``environments.toml`` for what there is."""

__version__ = "0.1.0"
