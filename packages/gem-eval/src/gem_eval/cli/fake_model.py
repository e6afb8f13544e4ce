"""``gem fake-model``: a model server with a scripted policy behind it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import click

from gem_cli.output import Table, json_option, print_json

if TYPE_CHECKING:
    from gem_eval.fake_model.server import FakeModel

__all__ = ["fake_model_command"]


@click.command("fake-model")
@click.option("--policy", default="echo", show_default=True, help="What answers; see above.")
@click.option("--model", default="fake-model", show_default=True, help="Name of the model.")
@click.option(
    "--dialect",
    type=click.Choice(["openai", "vllm", "sglang", "llamacpp", "transformers"]),
    default="openai",
    show_default=True,
    help="Server to imitate: names of fields, token ids, refusals.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any free port.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of latencies, faults and random answers.")
@click.option("--latency", type=click.FloatRange(min=0), default=0.0, help="Median seconds until an answer.")
@click.option("--latency-sigma", type=click.FloatRange(min=0), default=0.0, help="Log-normal spread of the latency.")
@click.option("--token-latency", type=click.FloatRange(min=0), default=0.0, help="Seconds that each token adds.")
@click.option("--stragglers", type=click.FloatRange(0, 1), default=0.0, help="Share of requests that straggle.")
@click.option("--straggler-latency", type=click.FloatRange(min=0), default=20.0, show_default=True, help="Seconds.")
@click.option("--reasoning", default="", help="Reasoning that precedes every answer.")
@click.option("--tokens", "least_tokens", type=click.IntRange(min=0), default=0, help="Fill answers to this length.")
@click.option(
    "--replicas", type=click.IntRange(min=1), default=1, show_default=True, help="Prefix caches behind a router."
)
@click.option("--recode", is_flag=True, help="Sample ids that differ from the text's tokenization.")
@click.option("--max-context", type=click.IntRange(min=1), help="Tokens of prompt and answer together.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Requests answered at once; others wait.")
@click.option("--queue", type=click.IntRange(min=0), help="Requests that may wait; others get 503.")
@click.option("--rate-limit", "requests_per_second", type=click.FloatRange(min=0, min_open=True), help="A second; 429.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KIND[:RATE][@NUMBER][*TIMES][~TEXT]",
    help="What goes wrong; may be repeated.",
)
@click.option("--list-faults", is_flag=True, help="List the kinds of faults and exit.")
@click.option(
    "--retry-after", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Of refusals; seconds."
)
@click.option(
    "--slow",
    "slow_seconds",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds between the bytes of slow replies.",
)
@click.option("--api-key", help="Key that requests must carry.")
@click.option("--until-eof", is_flag=True, hidden=True, help="End with the input, and so with the parent process.")
@json_option
def fake_model_command(
    latency: float,
    latency_sigma: float,
    token_latency: float,
    stragglers: float,
    straggler_latency: float,
    list_faults: bool,
    retry_after: float,
    slow_seconds: float,
    until_eof: bool,
    as_json: bool,
    **settings: object,
) -> None:
    """Serve an OpenAI-compatible endpoint with a scripted policy in the model's place.

    \b
    Policies:
      echo               repeats the last message
      constant:TEXT      always answers TEXT
      null               always answers nothing
      random             random words, or random tool calls
      judge[:NUMBER]     JSON by the schema of the request, with NUMBER for numbers
      tool[:NAME]        calls a tool of the request
      script:FILE        the k-th line of FILE to the k-th turn
      module:function    a function of yours
      ID[,ID]...         the reference policies of environments, if they play from observations

    \b
    Faults, such as --fault reset-in-body:0.1:
      :RATE              share of the requests, drawn by --seed and the request
      @NUMBER            only the request of that number, from 1
      *TIMES             only the first requests with the same body
      ~TEXT              only requests in whose messages TEXT stands

    \b
    Examples:
      gem fake-model --policy game:GuessTheNumber-v0-easy
      gem fake-model --policy game:GuessTheNumber-v0-easy,game:TowerofHanoi-v0-easy
      gem fake-model --policy constant:42 --latency 1 --stragglers 0.1
      gem fake-model --dialect vllm --policy game:Wordle-v0-easy --tokens 20 --port 0 --json
      gem fake-model --fault rate-limit-seconds:0.1 --fault silence@100
      gem fake-model --list-faults
    """
    if list_faults:
        _print_faults(as_json)
        return
    from gem_eval.fake_model.faults.kinds import FaultSettings
    from gem_eval.fake_model.latency import Latency
    from gem_eval.fake_model.server import FakeModel

    delays = Latency(latency, latency_sigma, stragglers, straggler_latency, token_latency)
    model = FakeModel(latency=delays, fault_settings=FaultSettings(retry_after, slow_seconds), **settings)  # type: ignore[arg-type]  # the options are named like the fields
    try:
        asyncio.run(_serve(model, as_json, until_eof))
    except KeyboardInterrupt:
        pass  # the normal end
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {model.host} port {model.port} ({error.strerror or error}); "
            "choose another with --port, or 0 for any"
        ) from error


async def _serve(model: FakeModel, as_json: bool, until_eof: bool) -> None:
    async with model:
        if as_json:
            click.echo(json.dumps({"url": model.url, "model": model.model, "policy": str(model.policy)}))
        else:
            click.echo(f"{model.model} listens on {model.url} (counts: {model.origin}/stats); Ctrl-C ends it")
        await (_end_of_input() if until_eof else asyncio.Event().wait())


async def _end_of_input() -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    await reader.read()


def _print_faults(as_json: bool) -> None:
    from gem_eval.fake_model.faults.catalogue import FAULTS, GROUPS

    if as_json:
        print_json(
            [
                {
                    "name": kind.name,
                    "group": GROUPS[kind.group],
                    "summary": kind.summary,
                    "needs": kind.need.value if kind.need else None,
                }
                for kind in FAULTS.values()
            ]
        )
        return
    rows = Table(("fault", "group", "the server", "needs"))
    for kind in FAULTS.values():
        rows.add_row(kind.name, GROUPS[kind.group], kind.summary, kind.need.value if kind.need else "")
    rows.show()
