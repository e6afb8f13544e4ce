"""Question answering and logic for language-model agents: a generated world to search, rule worlds, the published data sets."""

__version__ = "0.1.0"
