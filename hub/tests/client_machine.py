"""Another machine for the tests of the client: an empty environment, and the hub commands run in it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sysconfig
import threading
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

RUN = """
import sys
from gem_cli.main import run
if "--without-pip" in sys.argv:
    sys.argv.remove("--without-pip")
    sys.modules["pip"] = None
run()
"""


class Machine:
    """A virtual environment that sees what the tests' own has, and that installers write into.

    Args:
        folder: where it is.
        without_pip: whether its commands find no pip, and so use uv, which takes a fifth of the CPU seconds.

    Attributes:
        index: the folder in which its pip and uv look for whatever is not on a hub; they have no network.
    """

    def __init__(self, folder: Path, without_pip: bool = False) -> None:
        self.folder = folder
        self.without_pip = without_pip
        self.index = folder / "index"
        self.index.mkdir(parents=True)
        home = folder / "venv"
        venv.create(home, symlinks=os.name != "nt")
        self.python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        paths = sysconfig.get_paths("venv" if "venv" in sysconfig.get_scheme_names() else None, {"base": str(home)})
        self.packages = Path(paths["purelib"])
        shared = sysconfig.get_paths()["purelib"]
        (self.packages / "shared.pth").write_text(f"import site; site.addsitedir({shared!r})\n", encoding="utf-8")

    def environment(self, *hubs: str | Path) -> dict[str, str]:
        """Return the environment variables for commands that use these hubs."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
        home = str(self.folder / "home")
        index = str(self.index)
        return {
            **kept,
            "HOME": home,
            "XDG_CACHE_HOME": f"{home}/cache",
            "XDG_CONFIG_HOME": f"{home}/config",
            "GEM_HUB": " ".join(map(str, hubs)),
            "NO_PROXY": "*",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_FIND_LINKS": index,
            "UV_NO_CONFIG": "1",
            "UV_NO_INDEX": "1",
            "UV_DEFAULT_INDEX": f"file://{home}/nothing",
            "UV_FIND_LINKS": index,
        }

    def run(self, *arguments: str | Path, hubs: tuple[str | Path, ...] = (), cwd: Path | None = None) -> Any:
        """Run ``gem`` with some arguments; return the finished process, with stdout and stderr as text."""
        command = [self.python, "-c", RUN, *arguments, *(["--without-pip"] if self.without_pip else [])]
        environment = self.environment(*hubs)
        return subprocess.run(
            command, cwd=cwd or self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def gem(self, *arguments: str | Path, hubs: tuple[str | Path, ...] = (), cwd: Path | None = None) -> str:
        """Run ``gem``, which must succeed; return its stdout."""
        done = self.run(*arguments, hubs=hubs, cwd=cwd)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
        return str(done.stdout)

    def refused(self, *arguments: str | Path, hubs: tuple[str | Path, ...] = ()) -> str:
        """Run ``gem``, which must fail in one sentence; return its stderr."""
        done = self.run(*arguments, hubs=hubs)
        assert done.returncode == 1, f"{arguments}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return str(done.stderr)

    def pip(self, *arguments: str | Path) -> None:
        """Run the machine's own pip."""
        command = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
        subprocess.run(command, cwd=self.folder, env=self.environment(), check=True, capture_output=True)

    def installed(self) -> dict[str, dict[str, Any]]:
        """Return name → ``version`` and ``sha256`` (as the installer wrote it down) of what was installed here."""
        found = {}
        for info in self.packages.glob("*.dist-info"):
            name, version = info.name.removesuffix(".dist-info").split("-")
            origin = info / "direct_url.json"
            document = json.loads(origin.read_text(encoding="utf-8")) if origin.exists() else {}
            sha256 = document.get("archive_info", {}).get("hashes", {}).get("sha256", "")
            found[name.replace("_", "-")] = {"version": version, "sha256": sha256}
        return found


class _Quiet(SimpleHTTPRequestHandler):
    types: ClassVar[dict[str, str]] = {}
    missing: ClassVar[tuple[str, ...]] = ()

    def do_GET(self) -> None:
        if self.path in self.missing:
            self.send_error(404)
        else:
            super().do_GET()

    def guess_type(self, path: str) -> str:  # type: ignore[override]
        return self.types.get(Path(path).name, super().guess_type(path))

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path, types: dict[str, str] | None = None, missing: tuple[str, ...] = ()) -> Iterator[str]:
    """Serve a folder as ``python -m http.server`` does, and yield the address.

    Args:
        folder: what to serve.
        types: Content-Types by file name, where they are to be others.
        missing: paths that get no answer but 404.
    """
    handler = type("Handler", (_Quiet,), {"types": types or {}, "missing": missing})
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
