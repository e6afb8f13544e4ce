"""``python -m gem``: the ``gem`` command, even if another program has the same name."""

from gem_cli.start import run

if __name__ == "__main__":
    run()
