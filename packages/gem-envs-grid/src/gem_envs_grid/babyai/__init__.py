"""BabyAI: the levels of minigrid, told in words."""
