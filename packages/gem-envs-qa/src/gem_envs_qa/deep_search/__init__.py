"""Questions that take several searches in a large generated world; see :mod:`.env`."""
