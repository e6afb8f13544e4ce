"""Tasks whose information is in the picture alone; ``environments.toml`` lists them."""

__version__ = "0.1.0"
