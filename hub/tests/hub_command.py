"""The command ``gem hub``, called in this process."""

from __future__ import annotations

from click.testing import CliRunner

from gem_hub.errors import HubRefusal
from gem_hub_client.cli.group import hub_command


def gem_hub(*arguments: object) -> str:
    """Run ``gem hub`` and return what it prints."""
    done = CliRunner().invoke(hub_command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refusal(*arguments: object) -> str:
    """Run ``gem hub``, which must refuse, and return why."""
    done = CliRunner().invoke(hub_command, [str(argument) for argument in arguments])
    assert isinstance(done.exception, HubRefusal), done.output
    return str(done.exception)
