"""Programming problems for language-model agents, judged in a sandbox."""

__version__ = "0.1.0"
