"""The page put together: its modules as one script and its styles as one sheet, in files or in one document.

A browser that fetches thirty modules one import after the other takes longer than it takes to draw the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter

from gem_eval.viewer.page_files import page_files

__all__ = ["document", "script", "served_page", "style"]

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) ([A-Za-z_]+))", re.MULTILINE)
_SCRIPT = re.compile(r' *<script type="module" src="page/main\.js"></script>\n')
_STYLE = re.compile(r' *<link rel="stylesheet" href="page/([a-z_]+\.css)">\n')


def document(parts: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the page as one HTML document that asks for nothing.

    Args:
        parts: the data: a name, and bytes in the form of :mod:`gem_eval.viewer.packing`.
    """
    html = page_files()["index.html"].content.decode()
    styles, code = style(), script()
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(code)}'",
            f"style-src '{_hash(styles)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    head = f'    <meta http-equiv="Content-Security-Policy" content="{policy}">\n    <style>{styles}</style>\n'
    html = _SCRIPT.sub("", _STYLE.sub("", html)).replace(
        '    <meta name="viewport"', head + '    <meta name="viewport"'
    )
    before, after = html.split("  </body>")
    pieces = [before.encode()]
    # Base64 holds no character that could end the element, and a browser runs no script of this type.
    pieces += [
        b'<script type="text/plain" id="part-%s">%s</script>\n' % (name.encode("ascii"), base64.b64encode(content))
        for name, content in parts
    ]
    pieces += [f'<script type="module">{code}</script>\n'.encode(), f"  </body>{after}".encode()]
    return b"".join(pieces)


def served_page(runs: int) -> bytes:
    """Return the document that a server sends, which asks for script, style and the rows of the runs at once."""
    html = page_files()["index.html"].content.decode()
    data = ["runs", *(f"runs/{run}/rows?from=0&amp;generation=0" for run in range(runs))]
    links = [f'<link rel="preload" as="fetch" href="{address}" crossorigin="anonymous">' for address in data]
    links += ['<link rel="stylesheet" href="style.css">', '<script type="module" src="script.js"></script>']
    head = "".join(f"    {link}\n" for link in links)
    return _SCRIPT.sub(head, _STYLE.sub("", html)).encode()


@cache
def style() -> str:
    """Return the style sheets of the page as one."""
    html = page_files()["index.html"].content.decode()
    return "\n".join(page_files()[name].content.decode() for name in _STYLE.findall(html))


@cache
def script() -> str:
    """Return the modules of the page as one script; each is a function that returns what it exports."""
    sources = {name: file.content.decode() for name, file in page_files().items() if name.endswith(".js")}
    order = TopologicalSorter({name: {found for _, found in _IMPORT.findall(text)} for name, text in sources.items()})
    code = "const modules = {};\n" + "\n".join(_wrapped(name, sources[name]) for name in order.static_order())
    assert not re.search(r"</script|<!--", code, re.IGNORECASE)
    return code


def _wrapped(name: str, source: str) -> str:
    exported = _EXPORT.findall(source)
    body = _IMPORT.sub(r'const {\1} = modules["\2"];\n', _EXPORT.sub("", source))
    return f'modules["{name}"] = (() => {{\n{body}return {{ {", ".join(exported)} }};\n}})();'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
