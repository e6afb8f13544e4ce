"""The README's commands on machines as people have them, each a bare Debian in namespaces of its own.

``python3 dev.py strangers`` runs them. ``cells`` says which machines there are, ``layers`` makes their root file
systems, ``machine`` starts one with ``enter.sh`` and runs commands in it, ``machine_settings`` gives it this machine's
way to package indexes, ``checkout`` packs the working tree, ``outcome`` reads what the tests said, and ``command`` is
the command.
"""
