"""Games for two to six players, each with rules of its own and the common part in :mod:`.seated_game`."""
