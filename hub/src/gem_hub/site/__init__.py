"""The catalogue for people: static pages that any web server can serve and any browser can search.

All pages are derived from ``envs/NAME.json``, and so from the records: no clock, no network, no state. The same
packages give the same bytes, as long as the libraries that render Markdown and templates stay the same.
"""

from __future__ import annotations

from gem_hub.site.build import FOLDERS, details_of, pages, site_files
from gem_hub.site.render import POLICY

__all__ = ["FOLDERS", "POLICY", "details_of", "pages", "site_files"]
