"""``python -m gem``: the ``gem`` command, also where another program has taken its name."""

from gem.cli.main import run

if __name__ == "__main__":
    run()
