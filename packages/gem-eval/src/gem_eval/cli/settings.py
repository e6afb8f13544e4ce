"""The options of ``gem eval`` that describe an evaluation, and the configuration that they add up to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gem_cli.completers import complete_agents, complete_wrappers

if TYPE_CHECKING:
    from gem_eval.runs.evaluation_config import EvaluationConfig

__all__ = ["build_config", "evaluation_options"]

F = TypeVar("F", bound=Callable[..., Any])

_POSITIVE = click.IntRange(min=1)
_NATURAL = click.IntRange(min=0)
_SECONDS = click.FloatRange(min=0, min_open=True)

_OPTIONS = [
    click.option(
        "--agent",
        help="Play with a policy: reference, random, null, or module:Class; where --base-url or the file names a "
        "model, the class drives it.",
        shell_complete=complete_agents,
    ),
    click.option(
        "--opponent",
        "opponents",
        multiple=True,
        metavar="NAME",
        help="Where several agents act: a policy for the other seats, drawn for each seed; may be repeated. The "
        "evaluated agent has one seat, which changes from episode to episode.",
        shell_complete=complete_agents,
    ),
    click.option(
        "--harness",
        metavar="NAME",
        help="Agent program that plays with the model: codex, qwen-code …, command:PROGRAM, python:MODULE:FUNCTION.",
    ),
    click.option(
        "--harness-box",
        type=click.Choice(["auto", "always", "never"]),
        help="Whether the program of a harness runs in a box, such as the container of a task  [auto: where it can]",
    ),
    click.option(
        "--server-tool",
        "server_tools",
        metavar="KIND=TOOL",
        multiple=True,
        help="What is carried out where the program of a harness asks its model's server for a tool: "
        "web_search=search:WHERE (a corpus, an address, a web search), code_interpreter=python.",
    ),
    click.option("--max-calls", type=_POSITIVE, help="Most calls of the model that a harness has in an episode."),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0, min_open=True),
        help="Highest price of the model calls of a harness in an episode, by --price-input and --price-output.",
    ),
    click.option("--model", "-m", help="Name of the model; without it, the only one that the server has."),
    click.option(
        "--base-url",
        "-u",
        help="Address of the model's server, such as http://localhost:8000/v1; transformers:FOLDER is a model in this "
        "process, none leaves out the model that a file names.",
    ),
    click.option("--api-key-env", metavar="NAME", help="Variable that holds the server's key  [OPENAI_API_KEY]"),
    click.option("--episodes", "-n", type=_POSITIVE, help="Episodes of each environment, in all  [100]"),
    click.option("--group", "-g", type=_POSITIVE, help="Episodes of each seed  [1]"),
    click.option("--seed", type=_NATURAL, help="First seed  [0]"),
    click.option("--concurrency", "-c", type=_POSITIVE, help="Most episodes at a time  [64]"),
    click.option(
        "--workers", "-w", type=_POSITIVE, help="Processes that play, which share the episodes and --concurrency  [1]"
    ),
    click.option(
        "--wrappers",
        help="Names joined by commas, from the inside out  [messages, for a model]",
        shell_complete=complete_wrappers,
    ),
    click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", help="Argument of the environments; JSON."),
    click.option("--system", help="System message; @FILE reads it from a file."),
    click.option("--tools", type=click.Choice(["native", "text"]), help="How the model calls tools."),
    click.option(
        "--exact-tokens",
        is_flag=True,
        default=None,
        help="Ask with token ids: prompts hold exactly what was sampled before; the server must take and give ids.",
    ),
    click.option(
        "--temperature", type=click.FloatRange(min=0), help="Temperature of the sampling; default: the server's."
    ),
    click.option("--top-p", type=click.FloatRange(0, 1), help="Probability mass that is sampled from."),
    click.option("--max-tokens", type=_POSITIVE, help="Most tokens of one answer."),
    click.option("--stop", multiple=True, help="Text that ends an answer; may be repeated."),
    click.option("--sampling-seed", type=int, help="Seed of the model's sampling."),
    click.option("--logprobs", type=_NATURAL, help="Record log-probabilities, with so many alternatives a token."),
    click.option("--sampling", "extra", multiple=True, metavar="NAME=VALUE", help="Further field of requests; JSON."),
    click.option("--max-turns", type=_POSITIVE, help="End episodes after so many turns."),
    click.option("--max-episode-tokens", type=_POSITIVE, help="End episodes after so many sampled tokens."),
    click.option("--max-seconds", type=_SECONDS, help="End episodes after so many seconds."),
    click.option("--act-timeout", type=_SECONDS, help="Seconds that one action may take."),
    click.option("--step-timeout", type=_SECONDS, help="Seconds that one step of an environment may take."),
    click.option("--retries", type=_NATURAL, help="Further attempts after failures of environment or server  [1]"),
    click.option("--give-up-after", type=_NATURAL, help="End if so many episodes fail and none finishes  [50]"),
    click.option("--reward", "rewards", multiple=True, help="Score episodes with this as well; may be repeated."),
    click.option("--judge-model", help="Model of rewards that ask a judge."),
    click.option("--judge-url", help="Address of the judge's server."),
    click.option("--track", multiple=True, metavar="NAME", help="Send results to this run tracker."),
    click.option("--price-input", type=click.FloatRange(min=0), help="Price of a million prompt tokens."),
    click.option("--price-output", type=click.FloatRange(min=0), help="Price of a million sampled tokens."),
    click.option("--requests-per-minute", type=_SECONDS, help="Limit of the model's server."),
    click.option("--tokens-per-minute", type=_SECONDS, help="Limit of the model's server."),
    click.option(
        "--adaptive/--no-adaptive",
        default=None,
        help="Begin with few requests at once, and follow what the server can take, up to --concurrency  [off]",
    ),
    click.option(
        "--affinity/--no-affinity", default=None, help="Name the episode in requests, for routers and caches  [on]"
    ),
    click.option(
        "--protocol",
        type=click.Choice(["chat", "completions", "gemini", "generate", "messages", "responses"]),
        help="What to call: messages is Anthropic's interface, responses OpenAI's, gemini Google's  [chat]",
    ),
    click.option("--mode", help="Where environments run, as in gem.make_vec  [thread]"),
    click.option("--name", help="Title of the run."),
]


def evaluation_options(command: F) -> F:
    """Add the options to a command. None of them has a default, so that those that are given can be told."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def build_config(base: EvaluationConfig, env_ids: Iterable[str], given: Mapping[str, Any]) -> EvaluationConfig:
    """Return a configuration with what the command line says in place of what it has.

    Args:
        base: of a file, of the run to resume, or the defaults.
        env_ids: the environments; those that ``base`` has keep their own settings. Empty for those of ``base``.
        given: the values of :func:`evaluation_options` by parameter; None and empty tuples were not given.

    Raises:
        EvaluationConfigError: for values that contradict each other.
        click.BadParameter: for malformed ``NAME=VALUE``.
    """
    from gem_eval.runs.evaluation_config import EvaluationEnvironment

    options = {name: value for name, value in given.items() if value is not None and value != ()}
    values: dict[str, Any] = {name: options[name] for name in _PLAIN if name in options}
    values.update(_player(base, options))
    if "opponents" in options:
        values["opponents"] = {**base.opponents, **{name: {"agent": name} for name in options["opponents"]}}
    if "wrappers" in options:
        values["wrappers"] = tuple(filter(None, (name.strip() for name in options["wrappers"].split(","))))
    if "system" in options:
        values["system"] = _text(options["system"])
    for target, names in _TABLES.items():
        table = {name: options[option] for option, name in names.items() if option in options}
        if table:
            values[target] = {**getattr(base, target), **table}
    if "stop" in options:
        values["sampling"]["stop"] = list(options["stop"])
    if "logprobs" in options:
        values["sampling"].update(logprobs=True, top_logprobs=options["logprobs"])
    if "extra" in options:
        values["sampling"] = {**base.sampling, **values.get("sampling", {})}
        values["sampling"]["extra"] = {**base.sampling.get("extra", {}), **_pairs("--sampling", options["extra"])}
    if "price_input" in options or "price_output" in options:
        values["prices"] = _prices(base, options)
    if "server_tools" in options:
        tools = {"server_tools": _pairs("--server-tool", options["server_tools"])}
        values["harness_options"] = {**base.harness_options, **values.get("harness_options", {}), **tools}
    if "max_cost" in options:
        limited = _cost_budget(options["max_cost"], values.get("prices", base.prices))
        values["harness_options"] = {**base.harness_options, **values.get("harness_options", {}), **limited}
    ids = list(env_ids)
    environments = base.environments
    if ids:
        by_id = {item.label or item.id: item for item in environments}
        environments = tuple(by_id.get(env_id) or EvaluationEnvironment(env_id) for env_id in ids)
    if "arguments" in options:
        arguments = _pairs("--arg", options["arguments"])
        environments = tuple(replace(item, kwargs={**item.kwargs, **arguments}) for item in environments)
    config = base.with_settings(environments=environments, **values)
    _check_use(config, options)
    return config


def _player(base: EvaluationConfig, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return which of agent and model give way to an option: a policy by name plays alone, a class may drive a model.

    ``--base-url none`` takes the model away from a class that plays alone.
    """
    if options.get("base_url") == "none":
        return {"base_url": None, "model": options.get("model")}
    if "agent" in options:
        is_alone = ":" not in options["agent"] and not {"model", "base_url"} & options.keys()
        return {"model": None, "base_url": None} if is_alone else {}
    replaced = base.agent is not None and ":" not in base.agent and {"model", "base_url"} & options.keys()
    return {"agent": None} if replaced else {}


def _check_use(config: EvaluationConfig, options: Mapping[str, Any]) -> None:
    """Raise UsageError for options of a model where none plays or judges, which would be left out silently."""
    asked = config.base_url or config.model or config.players or config.opponents or config.rewards
    if config.agent is None or asked:
        return
    of_model = ("system", "tools", "extra", *_TABLES["sampling"], *_TABLES["client"])
    if unused := [name for name in of_model if name in options]:
        named = {"extra": "sampling"}.get(unused[0], unused[0]).replace("_", "-")
        raise click.UsageError(f"--{named} is for a model, and {config.agent!r} plays without one; leave it out")


_PLAIN = (
    *(
        "agent",
        "harness",
        "model",
        "base_url",
        "api_key_env",
        "episodes",
        "group",
        "seed",
        "concurrency",
        "workers",
        "tools",
        "exact_tokens",
        "retries",
    ),
    *("give_up_after", "rewards", "track", "mode", "name"),
)
_TABLES = {
    "sampling": {
        **{name: name for name in ("temperature", "top_p", "max_tokens", "stop", "logprobs")},
        "sampling_seed": "seed",
    },
    "limits": {
        **{name: name for name in ("max_turns", "max_seconds", "act_timeout", "step_timeout")},
        "max_episode_tokens": "max_tokens",
    },
    "harness_options": {"max_calls": "calls", "harness_box": "box"},
    "judge": {"judge_model": "model", "judge_url": "base_url"},
    "client": {name: name for name in ("requests_per_minute", "tokens_per_minute", "adaptive", "protocol", "affinity")},
}
"""Key of the configuration → option → name in that table."""


def _prices(base: EvaluationConfig, options: Mapping[str, Any]) -> Any:
    from gem_eval.runs.episode_row import Prices

    before = base.prices or Prices()
    return Prices(options.get("price_input", before.input), options.get("price_output", before.output))


def _cost_budget(cost: float, prices: Any) -> dict[str, Any]:
    """Return the options of a harness that limit the cost of an episode.

    Raises:
        click.UsageError: if nothing says what a token costs.
    """
    if prices is None or not (prices.input or prices.output):
        raise click.UsageError("--max-cost needs --price-input or --price-output, the prices of a million tokens")
    return {"cost": cost, "price_input": prices.input, "price_output": prices.output}


def _pairs(option: str, texts: Iterable[str]) -> dict[str, Any]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} must look like NAME=VALUE", param_hint=option)
        try:
            pairs[name] = json.loads(value)
        except ValueError:  # a bare word is text
            pairs[name] = value
    return pairs


def _text(value: str) -> str:
    if not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{value[1:]} cannot be read: {error}", param_hint="--system") from error
