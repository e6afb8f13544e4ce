"""Models that play people whom an agent talks to: how they are asked, and the faults that their words have."""
