"""What an agent has changed, and what it is worth."""
