"""Websites without scripts: pages as text and as HTML, the actions on them, and their environments."""
