"""The registry side of the hub: records in, a folder of static files out."""

__version__ = "0.1.0"
