"""The client of a registry: a hub to which packages are published over HTTP."""
