"""The command ``gem train``."""
