"""The workplace of an agent: the container of a task, and the tools in it."""
