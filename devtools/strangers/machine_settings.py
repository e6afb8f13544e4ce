"""What a machine must be handed of this one so that its pip and uv reach package indexes: settings and certificates.

Nothing else of this machine may be seen there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from devtools.environments import pip_settings

__all__ = ["environment_variables", "local_paths", "pip_configuration"]

_HANDED = re.compile(
    r"(?i:https?_proxy|all_proxy|no_proxy|ftp_proxy)"
    r"|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    r"|UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|INDEX_STRATEGY|FIND_LINKS|CONSTRAINT|NATIVE_TLS|HTTP_TIMEOUT)"
)
_OF_INDEXES = frozenset(("cert", "client-cert", "constraint", "default-timeout", "extra-index-url", "find-links"))
_OF_INDEXES |= frozenset(("index-url", "no-index", "proxy", "retries", "timeout", "trusted-host"))


def environment_variables() -> dict[str, str]:
    """Return this process's variables that concern proxies, certificates and uv's indexes."""
    return {name: value for name, value in os.environ.items() if _HANDED.fullmatch(name) and value}


def pip_configuration(settings: Mapping[str, str] | None = None) -> str:
    """Return the text of a ``pip.conf`` with this machine's settings of indexes.

    Args:
        settings: pip's settings; by default those of the Python that runs this.
    """
    settings = pip_settings() if settings is None else settings
    kept = {name: value.split() for name, value in sorted(settings.items()) if name in _OF_INDEXES}
    return "[global]\n" + "".join(f"{name} = {(chr(10) + '    ').join(values)}\n" for name, values in kept.items())


def local_paths(settings: Mapping[str, str] | None = None, variables: Mapping[str, str] | None = None) -> list[Path]:
    """Return the files and folders of this machine that the settings name, none of which lies inside another."""
    settings = pip_settings() if settings is None else settings
    variables = environment_variables() if variables is None else variables
    values = [value for name, value in settings.items() if name in _OF_INDEXES]
    named = {_local(word) for value in [*values, *variables.values()] for word in re.split(r"[\s,]+", value)}
    found = sorted(path for path in named if path is not None and path.exists())
    return [path for path in found if not any(other in path.parents for other in found)]


def _local(word: str) -> Path | None:
    if word.startswith("file:"):
        index = Path(unquote(urlsplit(word).path))
        return index.parent if len(index.parts) > 2 else index  # the pages of an index link to files beside it
    return Path(word) if word.startswith("/") else None
