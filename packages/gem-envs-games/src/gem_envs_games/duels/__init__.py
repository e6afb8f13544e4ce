"""Games for two players, each with rules of its own and the common part in :mod:`.two_players`."""
