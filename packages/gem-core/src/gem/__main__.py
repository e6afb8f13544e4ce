"""``python -m gem``: the ``gem`` command, even if another program has the same name."""

from gem.cli.main import run

if __name__ == "__main__":
    run()
