"""Every data set of reasoning-gym as an environment for language-model agents, scored safely."""

__version__ = "0.1.0"
