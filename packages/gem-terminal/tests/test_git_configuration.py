"""The configuration of an agent's repository, from which everything that git could execute is gone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_terminal.verdicts.git_configuration import clean

HONEST = b"""\xef\xbb\xbf[core]
\trepositoryformatversion = 0 ; of git
\tfilemode = true
\tbare=false
[user] name = "A # B" C
\temail = a@example.org
[remote "origin"]\r
\turl = https://example.org/a-b/c.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "a\\"b"]
\tremote = origin
\tmerge = refs/heads/ma\\
in
"""

EXECUTES = b"""\
[core] fsmonitor = /x
[core] sshCommand = /x
[core] hooksPath = /x
[core] pager = /x
[core] editor=/x
[core] worktree = /tests
[core] attributesFile = /x
[core] gitProxy = /x
[core] askPass = /x
[core] alternateRefsCommand = /x
[alias] st = !sh
[alias "st"] command = !sh
[filter "x"] clean = /x
[filter "x"] process = /x
[diff] external = /x
[diff "x"] textconv = /x
[diff "x"] command = /x
[merge "x"] driver = /x
[mergetool "x"] cmd = /x
[difftool "x"] path = /x
[include] path = /x
[includeIf "gitdir:/"] path = /x
[pager] status = /x
[credential] helper = !x
[gpg] program = /x
[gpg "ssh"] defaultKeyCommand = /x
[remote "o"] uploadpack = /x
[remote "o"] receivepack = /x
[remote "o"] vcs = x
[remote "o"] url = ext::sh -c x
[remote "o"] url = --upload-pack=x
[remote "o"] url = ssh://-oProxyCommand=x/y
[remote "o"] proxy = x
[protocol "ext"] allow = always
[protocol] allow = always
[url "ext::sh"] insteadOf = h
[submodule "s"] update = !x
[submodule "s"] url = ext::x
[uploadpack] packObjectsHook = /x
[sendemail] smtpServer = /x
[trailer "x"] command = /x
[interactive] diffFilter = /x
[sequence] editor = /x
[init] templateDir = /x
[man "x"] cmd = /x
[browser "x"] cmd = /x
[web] browser = x
[instaweb] httpd = /x
[extensions] worktreeConfig = true
[extensions] partialClone = o
[maintenance] auto = true
[http] proxy = x
[safe] directory = *
[core.x] fsmonitor = /x
[tar "x"] command = /x
[blame] ignoreRevsFile = /x
[log] mailmap = x
[commit] template = /x
[core] excludesFile = /x
""".splitlines()
"""Settings that git-config(1) names as commands, as paths of configurations, or as what enables these."""


def settings(configuration: bytes, folder: Path) -> list[str]:
    """The settings as git itself reads them."""
    file = folder / "config"
    file.write_bytes(configuration)
    listed = subprocess.run(["git", "config", "-z", "-l", "--no-includes", "-f", file], capture_output=True, check=True)
    return listed.stdout.decode(errors="surrogateescape").split("\0")[:-1]


def test_honest_settings_stay_as_git_reads_them(tmp_path: Path) -> None:
    """Whatever their quotes, escapes, comments and line ends."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    assert settings(clean(HONEST), tmp_path) == settings(HONEST, tmp_path)


@pytest.mark.parametrize("line", EXECUTES)
def test_a_setting_that_executes_something_goes(line: bytes) -> None:
    """So does one after its heading in the same line, in capitals, or after a byte order mark."""
    below = line.replace(b"] ", b"]\n")
    for written in (
        line,
        below,
        line.upper(),
        b"\xef\xbb\xbf" + line,
        below.replace(b"\n", b"\r\n"),
        line.replace(b"= ", b"= \\\n"),
    ):
        assert clean(written) == b""
        assert clean(HONEST + written) == clean(HONEST)


@given(
    st.binary(max_size=200), st.lists(st.sampled_from([b"[core]", b"\n", b"fsmonitor", b"=", b"\\", b'"', b"#", b"/x"]))
)
def test_any_bytes_leave_known_settings_alone(noise: bytes, pieces: list[bytes]) -> None:
    """What is written reads as itself, and names no command."""
    for given_bytes in (noise + b"".join(pieces), b"".join(pieces) + noise):
        cleaned = clean(given_bytes)
        assert clean(cleaned) == cleaned
        assert b"fsmonitor" not in cleaned.lower()
