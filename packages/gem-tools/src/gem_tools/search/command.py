"""``gem search-server``."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from gem_cli.output import json_option

if TYPE_CHECKING:
    from gem_tools.search.engines import CorpusIndex

__all__ = ["search_server_command"]

_MOST_HITS = 100
_BACKLOG = 2048
_PATIENCE = 10
"""The seconds that requests in progress may take after a stop request."""


@click.command("search-server")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    required=True,
    help="File of JSON lines, one document each: id, and contents or title and text. May be packed (.gz).",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Name or address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 for any free port.")
@click.option(
    "--topk",
    type=click.IntRange(1, _MOST_HITS),
    default=3,
    show_default=True,
    help="Default number of documents.",
)
@click.option(
    "--most-hits",
    type=click.IntRange(1, _MOST_HITS),
    default=_MOST_HITS,
    show_default=True,
    help="Limit on documents per query.",
)
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes that answer.")
@click.option(
    "--index",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that keeps the index.  [default: the cache folder of the user]",
)
@click.option(
    "--engine",
    type=click.Choice(["bm25", "dense", "hybrid"]),
    default="bm25",
    show_default=True,
    help="Search by words, by vectors, or by both.",
)
@click.option("--model", help="Model of the vectors: a name or folder for sentence-transformers, or a name at the URL.")
@click.option("--embeddings-url", help="Address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1.")
@click.option("--query-prefix", help="Text before each query.  [default: that of the model, if it is known]")
@click.option("--passage-prefix", help="Text before each document.  [default: that of the model, if it is known]")
@json_option
def search_server_command(
    corpus: Path,
    host: str,
    port: int,
    topk: int,
    most_hits: int,
    workers: int,
    folder: Path | None,
    engine: str,
    model: str | None,
    embeddings_url: str | None,
    query_prefix: str | None,
    passage_prefix: str | None,
    as_json: bool,
) -> None:
    """Serve searches in a corpus over HTTP.

    POST /retrieve accepts the requests of the original GEM (MessagePack) and of Search-R1 (JSON, also many
    queries at once). GET /health reports the status. The index is written before the server answers, once for each
    corpus. There is no authentication: every client that reaches the address can search.

    The engines dense and hybrid need --model, and the extra gem-tools[dense]. Vectors come from --embeddings-url (its
    key from OPENAI_API_KEY), or from sentence-transformers if it is installed. Every document is compared with a query,
    so the ranking is exact.

    With --json, one line of JSON names the address when the server is ready. SIGINT and SIGTERM end the server after it
    has answered the requests in progress.

    \b
    Examples:
      gem search-server --corpus wiki.jsonl
      gem search-server --corpus wiki.jsonl --host 0.0.0.0 --port 8000 --workers 4
      gem search-server --corpus wiki.jsonl --engine hybrid --model intfloat/e5-base-v2
      gem search-server --corpus wiki.jsonl --engine dense --model e5 --embeddings-url http://127.0.0.1:9000/v1
      SEARCH_URL=http://127.0.0.1:8000/retrieve python train.py
    """  # noqa: D301  # \b makes click keep line breaks
    from gem_tools.search.engines import embedder_from, open_index

    if (model is None) != (engine == "bm25"):
        raise click.UsageError(
            f"--engine {engine} needs --model" if model is None else "--model needs --engine dense or hybrid"
        )
    if embeddings_url is not None and model is None:
        raise click.UsageError("--embeddings-url needs --model, the name of a model there")
    # A comparison reads all vectors once: further threads wait for the same memory, and use the processor meanwhile.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    topk = min(topk, most_hits)
    settings = {
        "corpus": str(corpus.absolute()),
        "index": None if folder is None else str(folder.absolute()),
        "engine": engine,
        "model": model,
        "embeddings_url": embeddings_url,
        "query_prefix": query_prefix,
        "passage_prefix": passage_prefix,
        "topk": topk,
        "most_hits": most_hits,
    }
    with _listening(host, port) as listener:  # first, because an occupied port must not cost the indexing
        index = open_index(corpus, engine, embedder_from(settings), folder)
        listener.listen(_BACKLOG)  # clients that connect before the processes are ready wait
        address = _address(host, listener)
        _introduce(index, corpus, address, workers, as_json)
        _quiet_ending()
        with suppress(KeyboardInterrupt):  # an interrupt is the normal end
            _serve(index, listener, settings, workers)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # there the option would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Otherwise an answer could wait 40 ms for the acknowledgement of the one before.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.set_inheritable(True)
    except OSError as error:
        listener.close()
        raise click.ClickException(
            f"cannot listen on {host} port {port} ({error.strerror or error}); choose another with --port, or 0 for any"
        ) from error
    return listener


def _serve(index: CorpusIndex, listener: socket.socket, chosen: Mapping[str, Any], workers: int) -> None:
    import uvicorn

    from gem_tools.search.server import SETTINGS, application

    settings: dict[str, Any] = {
        "lifespan": "on",
        "log_level": "warning",
        "access_log": False,
        "backlog": _BACKLOG,
        "timeout_graceful_shutdown": _PATIENCE,
        "timeout_keep_alive": 60,  # longer than a client's, so that the client closes the connection
        "server_header": False,
    }
    if workers == 1:
        config = uvicorn.Config(application(index, chosen["topk"], chosen["most_hits"]), **settings)
        uvicorn.Server(config).run(sockets=[listener])
        return
    os.environ[SETTINGS] = json.dumps(chosen)
    target = "gem_tools.search.server:from_environment"
    uvicorn.run(target, factory=True, workers=workers, fd=listener.fileno(), **settings)


def _address(host: str, listener: socket.socket) -> str:
    named = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104  # only compared
    place = f"[{named}]" if ":" in named else named
    return f"http://{place}:{listener.getsockname()[1]}/retrieve"


def _introduce(index: CorpusIndex, corpus: Path, address: str, workers: int, as_json: bool) -> None:
    if as_json:
        ready = {"url": address, "documents": len(index), "index": str(index.folder), "workers": workers}
        click.echo(json.dumps({**ready, "pid": os.getpid()}))
    else:
        click.echo(f"Serving {len(index):,} documents of {corpus} at {address}")
        click.echo(f"  export SEARCH_URL={address}")
        click.echo("Ctrl-C ends it.")
    sys.stdout.flush()


def _quiet_ending() -> None:
    """Let SIGTERM end the process with success; the server raises the signal again after its stop."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
