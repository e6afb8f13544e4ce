"""The plugin of gem-eval."""

from __future__ import annotations

import click

from gem.entry_points import load
from gem_eval import plugin


def test_every_name_of_the_plugin_loads() -> None:
    """Each command is a click command, and each client, reward and tracker can be called."""
    assert all(isinstance(load(target), click.Command) for target in plugin.gem_commands().values())
    for hook in (plugin.gem_model_clients, plugin.gem_rewards, plugin.gem_run_trackers):
        assert all(callable(load(target)) for target in hook().values())
