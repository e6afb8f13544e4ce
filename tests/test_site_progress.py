"""The site's build says what it does, in few lines."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from devtools.site.progress import ProgressLines


@pytest.mark.slow
@pytest.mark.parametrize("terminal", [False, True])
def test_sphinx_tells_its_passes_in_quarters(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twelve pages a pass has five lines at most, in their order, and nothing else of Sphinx's messages is told."""
    from sphinx.cmd.build import main

    names = [f"page{number}" for number in range(11)]
    (tmp_path / "conf.py").write_text("", encoding="utf-8")
    index = "\n".join(["Index", "=====", "", ".. toctree::", "", *(f"   {name}" for name in names)])
    (tmp_path / "index.rst").write_text(f"{index}\n", encoding="utf-8")
    for name in names:
        (tmp_path / f"{name}.rst").write_text(f"{name}\n{'=' * len(name)}\n", encoding="utf-8")
    monkeypatch.setattr("sphinx.util.display.terminal_supports_colour", lambda: terminal)
    told: list[str] = []
    with contextlib.redirect_stdout(ProgressLines(told.append)):
        assert main(["-N", "-W", str(tmp_path), str(tmp_path / "out")]) == 0
    passes = list(dict.fromkeys(line.partition(":")[0] for line in told))
    assert passes[0] == "reading sources"
    assert "writing output" in passes
    assert all(line.partition(": ")[2] in ("0 %", "25 %", "50 %", "75 %", "100 %") for line in told)
    shares = [int(line.split()[-2]) for line in told if line.startswith("reading sources")]
    assert shares == sorted(set(shares))
    assert shares[-1] == 100
