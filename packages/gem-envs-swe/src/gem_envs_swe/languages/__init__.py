"""Making tasks from packages of other languages than Python."""
