"""The ``gem hub`` commands, one a module; :mod:`gem_hub_client.cli.group` finds them without importing them."""
