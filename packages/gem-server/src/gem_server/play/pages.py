"""The play page: any served environment by hand, turn by turn, in a browser.

Three static files and the server's own API. The page asks for its token once, exchanges it for a ticket, and opens the
WebSocket ``gem.v1`` with that. It asks no other server for anything, and puts all texts of environments into the
document as text, never as markup; the headers forbid scripts and connections from anywhere else.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from gem_server.connection import HttpAnswer, PlainRequest

if TYPE_CHECKING:
    from gem_server.server import EnvironmentServer

__all__ = ["PATH", "add_play_page"]

PATH = "/play"

_FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


def add_play_page(server: EnvironmentServer) -> None:
    """Add the page to a server, before it starts. The page itself needs no token; what it calls does."""
    server.add_routes(PATH, _answer, needs_token=False)


async def _answer(request: PlainRequest, _owner: str) -> HttpAnswer:
    found = _FILES.get(request.path.removeprefix(PATH))
    if found is None or request.method not in ("GET", "HEAD"):
        return HttpAnswer.of({"error": {"kind": "NotFound", "message": f"the page is at {PATH}"}}, 404)
    name, content_type = found
    return HttpAnswer(200, _content(name), content_type, _HEADERS)


@cache
def _content(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()
