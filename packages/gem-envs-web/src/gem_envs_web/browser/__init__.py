"""The websites as real pages over HTTP, and environments for agents that look at them through a browser."""
