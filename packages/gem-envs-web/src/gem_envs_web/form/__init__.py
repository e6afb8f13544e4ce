"""Generated forms over several pages, filled in from somebody's letter."""
