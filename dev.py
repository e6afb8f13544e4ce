#!/usr/bin/env python3
"""Set the workspace up and check it, with nothing but Python 3.10 or newer and its pip.

    python3 dev.py demo                   install every package, run agents in some environments
    python3 dev.py test [PYTEST ARGS]     install every package, run every test that protects (12 minutes, two cores)
    python3 dev.py test --all             also the long races, all variants and the full budgets of generated inputs
    python3 dev.py quick [PYTEST ARGS]    lint and test what the branch has changed, without containers (3 minutes)
    python3 dev.py lint                   style, types and changelog
    python3 dev.py package [NAME ...]     for each package (default: all): build its wheel, install only that
                                          wheel and what it depends on, run the package's own tests there
    python3 dev.py touched [--base COMMIT | --everything] [--json]
                                          the packages and tests that the branch touches
    python3 dev.py mutants [ARGS]         change the code in small ways, count the changes that the tests notice
    python3 dev.py strangers [OPTIONS] [-- PYTEST ARGS]
                                          the README's two commands on bare machines of many kinds, each in namespaces
                                          of its own: as root and as an ordinary user, with nothing and with everything
                                          installed, in five folders, idle and beside a busy neighbour (root, Linux)
    python3 dev.py site [--play]          the documents, the reference and a page for each environment, as web pages;
                                          each of these has an episode, with --play also scores, with --no-play neither
    python3 dev.py release prepare|build|rehearse
                                          write a version and its notes; build the files of a release; try all of it
                                          out on this machine, from the tag to an empty environment that installs it
    python3 dev.py setup                  install every package, run nothing

It puts Hatch into .hatch/, never into the Python that runs it. Hatch makes the environments that pyproject.toml
describes, with every package installed editable: .venv/ for the tests and for your editor, .hatch/demo/ with the
packages alone. Neither root nor python3-venv is needed. A second run reuses what is there. An environment is made anew
when the packaging of a package changes or when its Python is gone; a Python of another version gets environments of its
own, in .hatch/.
"""

from __future__ import annotations

import argparse
import json
import sys


def main(arguments: list[str]) -> int:
    """Run one command of the module's docstring; return the exit code."""
    if sys.version_info < (3, 10):
        raise SystemExit(f"dev.py: Python 3.10 or newer is needed, this is {sys.version.split()[0]}")
    from devtools import alone, environments, quick, release_command

    command, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    if command == "demo" and not rest:
        return environments.hatch_run("demo", "demo")
    if command == "test":
        everything = "--all" in rest
        options = [argument for argument in rest if argument != "--all"]
        return environments.hatch_run("default", "test", *(["--tier", "all"] if everything else []), *options)
    if command == "quick":
        return quick.quick(rest)
    if command == "lint" and not rest:
        return environments.hatch_run("default", "lint")
    if command == "package":
        return alone.run_tests(rest)
    if command == "touched":
        return show_touched(rest)
    if command == "mutants":
        return environments.hatch_run("mutants", "mutants", *rest)
    if command == "strangers":
        from devtools.strangers.command import strangers  # which needs Linux

        return strangers(rest)
    if command == "site":
        return environments.hatch_run("default", "site", *rest)
    if command == "release":
        return release_command.release(rest)
    if command == "setup" and not rest:
        return environments.hatch_run("default", "python", "--version")
    print(__doc__.strip())
    return 0 if command in ("help", "-h", "--help") else 2


def show_touched(arguments: list[str]) -> int:
    """Print the packages and tests that a change touches; return the exit code."""
    from devtools import quick, workspace

    parser = argparse.ArgumentParser("dev.py touched")
    parser.add_argument("--base", help="the commit to compare with (default: where the branch began)")
    parser.add_argument("--everything", action="store_true", help="as if everything had changed")
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args(arguments)
    change = workspace.everything() if options.everything else workspace.touched(options.base)
    if options.json:
        print(json.dumps({"base": change.base, "packages": change.packages, "tests": change.tests}))
    else:
        print("\n".join(quick.explain(change)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
