"""``gem check-template``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gem_cli.completers import complete_ids, complete_wrappers
from gem_cli.output import Table, json_option, print_json
from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_rollout.chat_templates.prompt_check import PromptEpisode, RoleResult

__all__ = ["check_template_command"]

_KINDS = ("text", "reasoning", "tool-text", "tool-native", "tool-parallel")


@click.command("check-template")
@click.argument("tokenizer", type=click.Path())
@click.option(
    "--wrappers",
    default="concat_chat",
    show_default=True,
    help="Names joined by commas, from the inside out.",
    shell_complete=complete_wrappers,
)
@click.option(
    "--env",
    "env_id",
    metavar="ID",
    help="The environment to play.  [default: a small conversation]",
    shell_complete=complete_ids,
)
@click.option(
    "--actions",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Actions to play; may be repeated.  [default: all that the wrappers can answer]",
)
@click.option("--turns", type=click.IntRange(1, 1000), default=6, show_default=True, help="Turns of an episode.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the episodes.")
@click.option("--template-args", metavar="JSON", help="Passed on to the template: '{\"enable_thinking\": false}'.")
@json_option
def check_template_command(
    tokenizer: str,
    wrappers: str,
    env_id: str | None,
    actions: tuple[str, ...],
    turns: int,
    seed: int,
    template_args: str | None,
    as_json: bool,
) -> None:
    """Check that prompts only grow with a chat template.

    TOKENIZER is a folder of a model, its tokenizer_config.json, or a .jinja file; with transformers installed, also the
    name of a model on this machine. Episodes are played in the wrappers; after each turn, the prompt must begin with
    the prompt before it, go on with the action as it was sampled, and hold the answer. Ends with exit code 1 if it does
    not.

    \b
    Examples:
      gem check-template ./Qwen3-8B
      gem check-template chat_template.jinja --wrappers python_tool,concat_chat
      gem check-template ./Qwen3-8B --wrappers messages --env game:Wordle-v0 --actions text
    """
    from gem_rollout.chat_templates.files import read_tokenizer
    from gem_rollout.chat_templates.prompt_check import check_prompts, check_roles
    from gem_rollout.history.chat_template import renders_tool_messages

    arguments = _arguments(template_args)
    loaded = read_tokenizer(tokenizer)
    roles = check_roles(loaded, arguments)
    played = check_prompts(loaded, wrappers, env_id, kinds=actions, turns=turns, seed=seed, arguments=arguments)
    if as_json:
        report: dict[str, Any] = {
            "tokenizer": tokenizer,
            "wrappers": wrappers,
            "env": env_id,
            "seed": seed,
            "template_args": arguments,
        }
        report["holds"] = all(episode.holds for episode in played)
        report["roles"] = [asdict(role) for role in roles]
        print_json({**report, "episodes": [{"holds": episode.holds, **asdict(episode)} for episode in played]})
    else:
        _print(roles, played, renders_tool_messages(loaded, arguments))
    if not all(episode.holds for episode in played):
        raise SystemExit(1)


def _arguments(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    try:
        value = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{given!r} is not JSON: {error}", param_hint="--template-args") from None
    if not isinstance(value, dict):
        raise click.BadParameter(
            f'{given!r} is not a JSON object such as {{"enable_thinking": false}}', param_hint="--template-args"
        )
    return value


def _print(roles: list[RoleResult], played: list[PromptEpisode], tool_role: bool) -> None:
    for role in roles:
        reason = "" if role.renders else f": {printable(role.reason)}" if role.reason else ": its content is left out"
        click.echo(f"role {role.role}: " + ("renders" if role.renders else f"is refused{reason}"))
    if not tool_role:
        click.echo("The wrapper concat_chat shows the answers of tools as messages of the user.")
    click.echo()
    rows = Table(("actions", "turns", "prompt"), right=("turns",))
    for episode in played:
        rows.add_row(
            episode.actions, str(episode.turns), "only grows" if episode.holds else _WORDS[str(episode.problem)]
        )
    rows.show()
    for episode in played:
        if episode.holds:
            continue
        click.secho(f"{episode.actions}: {printable(episode.message)}", fg="red")
        if episode.before or episode.now:
            expected = "the prompt" if episode.problem == "rewritten" else "the action"
            click.echo(f"  both begin     …{episode.agreed!r}")
            click.echo(f"  {expected:<14} …{episode.before!r}")
            click.echo(f"  now            …{episode.now!r}")
        click.echo()


_WORDS = {
    "refused": "is refused by the template",
    "lost": "lacks an answer",
    "rewritten": "is rewritten",
    "changed": "changes the action",
}
