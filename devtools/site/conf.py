"""The settings of Sphinx; read from the copy beside the pages that ``devtools.site.build`` writes."""

from __future__ import annotations

import builtins
import collections.abc
import json
import typing
from pathlib import Path
from typing import Any

from pygments.lexers import get_lexer_by_name
from sphinx import addnodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

project = "GEM"
author = "the GEM contributors"
copyright = "the GEM contributors"  # noqa: A001  # Sphinx's name for it
html_title = "GEM"
extensions = ["myst_parser", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["files"]
nitpicky = False
default_role = None
highlight_language = "text"
suppress_warnings = [
    "misc.highlighting_failure",  # sessions are cut with …, which is no JSON and no Python
    "myst.header",  # a README may begin its levels anywhere
]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

napoleon_numpy_docstring = False
toc_object_entries = False  # with the names of all objects in it, each page takes seconds
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 88

html_theme = "furo"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = ["keyboard.js"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "sidebar_hide_name": False,
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
}
pygments_style = "default"
pygments_dark_style = "github-dark"


FOREIGN = {*collections.abc.__all__, *typing.__all__, *vars(builtins)}
"""Names of Python's own, which a class of ours may share."""

ALIASES = json.loads(Path(__file__).with_name("aliases.json").read_text(encoding="utf-8"))


def resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve a reference of a docstring that names a public name by another path, or by its bare name."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    home = ALIASES["paths"].get(target) or (None if target in FOREIGN else ALIASES["names"].get(target))
    owner, _, member = target.rpartition(".")
    if home is None and owner:  # a member, such as gem.Env.follows_order
        owner_home = ALIASES["paths"].get(owner) or ALIASES["names"].get(owner)
        home = f"{owner_home}.{member}" if owner_home else None
    if home is None or home == target:
        if "refexplicit" in node and target.startswith("gem") and "." in target:
            logger.warning("no entry for the reference %r", target, location=node)
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", home, node, contnode)


def take_as_written(app: Any, doctree: Any) -> None:
    """Look each Python reference up as it is written; a search through all names for each type takes minutes.

    Sphinx asks whether the attribute is there, whatever its value.
    """
    for node in doctree.findall(addnodes.pending_xref):
        if node.get("refdomain") == "py" and node.hasattr("refspecific"):
            del node["refspecific"]


def setup(app: Any) -> None:
    """Teach Sphinx the languages of the documents' code blocks, and the other names of public names."""
    app.add_lexer("jsonl", type(get_lexer_by_name("json")))
    app.connect("doctree-read", take_as_written)
    app.connect("missing-reference", resolve)
