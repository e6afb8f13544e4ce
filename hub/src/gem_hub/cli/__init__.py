"""The commands under ``gem hub`` that change a hub."""
