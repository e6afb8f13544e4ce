"""The command ``gem terminal worker``."""
