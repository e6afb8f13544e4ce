"""The local server of the page: static files, the rows of runs, single episodes. It only reads.

It listens on 127.0.0.1. Everything lies below a random token, which keeps other users of the machine out, and
requests must name this machine as their host, which keeps out web pages that let their own name point here (DNS
rebinding). The policy of the page allows no script but its own and no request to anywhere else.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from threading import Lock
from typing import Any

import orjson
from aiohttp import web

from gem_eval.runs import EpisodeRow
from gem_eval.viewer.columns import as_columns
from gem_eval.viewer.conversation_search import rows_that_say
from gem_eval.viewer.page_bundle import script, served_page, style
from gem_eval.viewer.page_files import CONTENT_SECURITY_POLICY, page_files
from gem_eval.viewer.run_facts import facts_of, run_figures
from gem_eval.viewer.side_by_side import counted_rows, figure_parts, group_parts
from gem_eval.viewer.viewed_run import RunReadError, ViewedRun

__all__ = ["serve_runs", "viewer_app"]

_HOSTS = {"127.0.0.1", "localhost", "[::1]"}

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"{CONTENT_SECURITY_POLICY}; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_MOST_ROWS = 40_000
"""Rows of one answer."""

_ROWS_WITH_FIGURES = 20_000
"""Rows that are sent with the figures of their run; of more, the page asks for the figures once it shows the rows."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def viewer_app(runs: Sequence[ViewedRun], token: str) -> web.Application:
    """Return the application that shows these runs below ``/TOKEN/``."""
    app = web.Application(middlewares=[_guard])
    view = _RunView(runs)
    app.add_routes(
        [
            web.get(f"/{token}/", view.page),
            web.get(f"/{token}/script.js", _script),
            web.get(f"/{token}/style.css", _style),
            web.get(f"/{token}/page/{{name}}", _page_file),
            web.get(f"/{token}/runs", view.runs),
            web.get(f"/{token}/groups", view.groups),
            web.get(f"/{token}/figures", view.figures),
            web.get(f"/{token}/runs/{{run:\\d{{1,4}}}}/rows", view.rows),
            web.get(f"/{token}/runs/{{run:\\d{{1,4}}}}/summary", view.summary),
            web.get(f"/{token}/runs/{{run:\\d{{1,4}}}}/search", view.search),
            web.get(f"/{token}/runs/{{run:\\d{{1,4}}}}/episodes/{{episode:\\d{{1,9}}}}", view.episode),
        ]
    )
    return app


@asynccontextmanager
async def serve_runs(runs: Sequence[ViewedRun], port: int = 0) -> AsyncIterator[str]:
    """Serve runs on 127.0.0.1 as long as the context lasts; its value is the address of the page.

    Args:
        runs: the runs.
        port: the port; 0 for any that is free.

    Raises:
        OSError: if the port is taken.
    """
    token = secrets.token_urlsafe(16)
    runner = web.AppRunner(viewer_app(runs, token), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await asyncio.gather(*(asyncio.to_thread(run.refresh) for run in runs))
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/{token}/"
    finally:
        await runner.cleanup()


@web.middleware
async def _guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests for other hosts, and add the headers to every response."""
    response: web.StreamResponse
    if re.sub(r":\d+$", "", request.host) not in _HOSTS:  # any port: it may be forwarded
        response = web.Response(status=403, text="this server answers only to 127.0.0.1 and localhost\n")
    else:
        try:
            response = await handler(request)
        except RunReadError as error:
            response = _json({"error": str(error)}, 404)
        except web.HTTPException as error:
            response = web.Response(status=error.status, text=f"{error.reason}\n")
    response.headers.update(_HEADERS)
    return response


async def _script(request: web.Request) -> web.Response:
    return web.Response(text=script(), content_type="text/javascript")


async def _style(request: web.Request) -> web.Response:
    return web.Response(text=style(), content_type="text/css")


async def _page_file(request: web.Request) -> web.Response:
    """Answer with a single module or style sheet."""
    file = page_files().get(request.match_info["name"])
    if file is None:
        raise web.HTTPNotFound
    return web.Response(body=file.content, content_type=file.content_type, charset="utf-8")


class _RunView:
    """Answers requests about runs; files are read in threads."""

    def __init__(self, runs: Sequence[ViewedRun]) -> None:
        self._runs = runs
        self._tables = {run: _PackedRows(run) for run in runs}

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(body=served_page(len(self._runs)), content_type="text/html", charset="utf-8")

    async def runs(self, request: web.Request) -> web.Response:
        return _json(await asyncio.to_thread(lambda: facts_of([run.folder for run in self._runs])))

    async def groups(self, request: web.Request) -> web.Response:
        folders = [run.folder for run in self._runs]
        return _json(await asyncio.to_thread(lambda: group_parts(folders, self._counted())))

    async def figures(self, request: web.Request) -> web.Response:
        """Answer with the figures of the environment ``?env=…``."""
        folders, env = [run.folder for run in self._runs], request.query.get("env", "")
        return _json(await asyncio.to_thread(lambda: figure_parts(folders, self._counted(), [env])))

    def _counted(self) -> list[list[EpisodeRow]]:
        return [counted_rows(run.rows) for run in self._runs]

    async def rows(self, request: web.Request) -> web.Response:
        """Answer with the rows from ``?from=N`` on; from 0 where ``?generation=G`` is not the present one."""
        run = self._run(request)
        start, generation = _natural(request, "from"), _natural(request, "generation")
        packed = await asyncio.to_thread(self._tables[run].packed, start, generation)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=packed, content_type="application/json", headers={"Content-Encoding": "gzip"})
        return web.Response(body=gzip.decompress(packed), content_type="application/json")

    async def summary(self, request: web.Request) -> web.Response:
        """Answer with the figures of a run that are too many to come with its rows."""
        return _json(await asyncio.to_thread(self._tables[self._run(request)].figures))

    async def search(self, request: web.Request) -> web.Response:
        """Answer with the numbers of the rows whose record says ``?text=…``."""
        run, text = self._run(request), request.query.get("text", "")
        return _json(await asyncio.to_thread(lambda: rows_that_say(run.folder, run.rows, text)))

    async def episode(self, request: web.Request) -> web.Response:
        run = self._run(request)
        record = await asyncio.to_thread(run.record, int(request.match_info["episode"]))
        return web.Response(body=record, content_type="application/json")

    def _run(self, request: web.Request) -> ViewedRun:
        number = int(request.match_info["run"])
        if number >= len(self._runs):
            raise web.HTTPNotFound
        return self._runs[number]


class _PackedRows:
    """The rows of a run as a page fetches them, compressed. The last answer is kept while nothing changes."""

    def __init__(self, run: ViewedRun) -> None:
        self._run = run
        self._kept: tuple[Any, bytes] = (None, b"")
        self._figures: tuple[Any, dict[str, Any]] = (None, {})
        self._lock = Lock()

    def packed(self, start: int, generation: int) -> bytes:
        """Return the rows from a number on, or from the first if the caller's generation is not the present one.

        There are at most so many that a page need not wait long; ``total`` says how many the run has.
        """
        run = self._run
        run.refresh()
        if generation != run.generation:
            start = 0
        live = run.live()
        question = (run.generation, start, len(run.rows), live)
        if self._kept[0] != question:
            answer = {
                "generation": run.generation,
                "from": start,
                "total": len(run.rows),
                "live": live,
                **({} if len(run.rows) > _ROWS_WITH_FIGURES else self.figures()),
                **as_columns(run.rows[start : start + _MOST_ROWS]),
            }
            self._kept = question, gzip.compress(_encoded(answer), 1)
        return self._kept[1]

    def figures(self) -> dict[str, Any]:
        """Return the figures of the run, which are reckoned anew when it has gained rows and not each second."""
        rows = self._run.rows
        state = (self._run.generation, len(rows))
        with self._lock:
            if self._figures[0] != state:
                self._figures = state, run_figures(rows)
            return self._figures[1]


def _natural(request: web.Request, name: str) -> int:
    text = request.query.get(name, "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=_encoded(value), status=status, content_type="application/json")


def _encoded(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, or an integer of more than 64 bits
        return json.dumps(value).encode("ascii")
