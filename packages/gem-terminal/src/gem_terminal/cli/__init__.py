"""The command ``gem terminal``, one module for each of its commands."""
