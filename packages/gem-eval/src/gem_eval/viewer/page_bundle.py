"""The page as one document: its modules as one script, its styles in place, and a policy that names both by hash."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from graphlib import TopologicalSorter

from gem_eval.viewer.page_files import page_files

__all__ = ["document", "script"]

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
    styles = "\n".join(page_files()[name].content.decode() for name in _STYLE.findall(html))
    code = script()
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
