"""Environments for agents that look at pages through a browser: the websites of this package, and MiniWoB."""
