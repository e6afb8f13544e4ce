"""``gem terminal new``."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click

from gem.errors import ArgumentError
from gem_cli.output import json_option, print_json
from gem_cli.write_folder import check_target, write_files

__all__ = ["new_command"]

_NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_TASK = """\
schema_version = "1.4"

[task]
name = "{author}/{name}"
description = "Count the words of each text in a folder."
keywords = ["text-processing"]

[metadata]
difficulty = "easy"
keep_processes = false  # nothing of the agent is alive when the tests begin

[agent]
timeout_sec = 600.0
user = "agent"

[verifier]
timeout_sec = 60.0

[environment]
cpus = 1
memory_mb = 512
network_mode = "no-network"
workdir = "/home/agent"
"""

_INSTRUCTION = """\
In `~/texts` there are text files. Write `~/counts.txt` with one line for each of them: its name, one blank, and how
many words it has. Sort the lines by name.
"""

_DOCKERFILE = """\
FROM debian:bookworm-slim
RUN useradd --create-home --shell /bin/bash agent
COPY texts /home/agent/texts
RUN chown -R agent:agent /home/agent
"""

_TEXTS = {
    "apple.txt": "An apple a day\nkeeps the doctor away.\n",
    "empty.txt": "",
    "long name.txt": "Names may have blanks.\n",
}

_TESTS = """\
#!/bin/bash
# Runs as root when every process of the agent has ended. Its exit code does not count: the reward is what it writes.
# What the agent has made is read, and would be run, as the agent and for so long: root would follow a link to what the
# agent cannot read, and wait for a pipe. The agent cannot read the tests either.
chmod 700 /tests && cd / || exit
as_agent() {
  timeout 10 setpriv --reuid=agent --regid=agent --clear-groups "$@"
}
expected='apple.txt 8
empty.txt 0
long name.txt 4'
reward=0
if [ "$(as_agent head -c 1000 /home/agent/counts.txt)" = "$expected" ]; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
"""

_SOLUTION = """\
#!/bin/bash
# What proves that the task can be solved; the agent never sees it.
set -e
cd ~/texts
for file in *; do
  echo "$file $(wc -w < "$file")"
done | LC_ALL=C sort > ~/counts.txt
"""


@click.command("new")
@click.argument("name")
@click.option("--author", default="me", show_default=True, help="The author before NAME in task.toml.")
@click.option("--into", type=click.Path(path_type=Path), metavar="DIR", help="The task's folder.  [default: ./NAME]")
@json_option
def new_command(name: str, author: str, into: Path | None, as_json: bool) -> None:
    """Write a new task in Harbor's format.

    The task is complete: it has an instruction, an image, tests and a solution, and passes 'gem terminal verify'.
    Replace its parts one by one.

    \b
    Examples:
      gem terminal new my-task
      gem terminal new word-count --into tasks/word-count
    """
    for what, text in (("NAME", name), ("the author", author)):
        if _NAME.fullmatch(text) is None:
            raise ArgumentError(
                f"{what} must be lower-case letters and digits, with single '-', '_' or '.' between them, got {text!r}"
            )
    folder = check_target(into or Path(name))
    files = {
        "task.toml": _TASK.format(author=author, name=name),
        "instruction.md": _INSTRUCTION,
        "environment/Dockerfile": _DOCKERFILE,
        **{f"environment/texts/{file}": text for file, text in _TEXTS.items()},
        "tests/test.sh": _TESTS,
        "solution/solve.sh": _SOLUTION,
    }
    write_files(folder, files)
    for script in ("tests/test.sh", "solution/solve.sh"):
        (folder / script).chmod(0o755)
    if as_json:
        print_json({"folder": str(folder.resolve()), "name": name, "files": [*files]})
        return
    shown = shlex.quote(os.path.relpath(folder))
    click.echo(f"Wrote {len(files)} files into {shown}.")
    click.secho("\nWhat comes next:", bold=True)
    click.echo(f"  gem terminal verify {shown}")
    click.echo(f"  gem terminal shell {shown}")
