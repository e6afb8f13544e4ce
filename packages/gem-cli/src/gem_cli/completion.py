"""Shell completion: a script for bash that knows colons, and ``gem completion``."""

from __future__ import annotations

import os
import warnings

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class
from click.shell_completion import split_arg_string as split_words

from gem_cli.output import json_option, print_json

__all__ = ["completion_command", "prepare_completion"]

_VARIABLE = "_GEM_COMPLETE"
"""The shell's function sets this variable to ask for completions; click derives its name from ``gem``."""

# bash takes a colon for the end of a word, so that it completes "game:Su" as a word "Su". The line is therefore passed
# as it is, and what stands before the last colon is cut off the answers again.
_BASH = r"""%(complete_func)s() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} response completion type value word prefix=
    word=${line##*[[:space:]=]}
    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then prefix=${word%%"${word##*:}"}; fi
    response=$(env COMP_WORDS="$line" %(complete_var)s=bash_complete "$1")
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("${value#"$prefix"}")
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _BashWithColons(BashComplete):
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_WORDS", "")
        words = split_words(line)
        incomplete = "" if line[-1:].isspace() or not words else words.pop()
        return words[1:], incomplete


def prepare_completion() -> None:
    """Take over bash's completion from click, and keep warnings off the line that is being typed."""
    warnings.simplefilter("ignore")
    add_completion_class(_BashWithColons)


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion_command(shell: str, as_json: bool) -> None:
    """Print the script that switches on completion in a shell.

    SHELL is bash, zsh or fish. With the script, the Tab key completes commands, options, ids with their variants,
    wrappers and files.

    \b
    Examples:
      eval "$(gem completion bash)"                  now; or as a line of ~/.bashrc
      eval "$(gem completion zsh)"                   now; or as a line of ~/.zshrc, after compinit
      gem completion fish > ~/.config/fish/completions/gem.fish
    """
    add_completion_class(_BashWithColons)
    complete_class = get_completion_class(shell)
    assert complete_class is not None
    group = click.get_current_context().find_root().command
    # Not source(), which first looks for the shell and warns if it is another version.
    complete = complete_class(group, {}, "gem", _VARIABLE)
    script = complete.source_template % complete.source_vars()
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script, nl=False)
