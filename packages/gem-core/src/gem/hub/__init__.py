"""The hub, seen from a client: which hubs there are, syncing their catalogues, and searching them.

A hub is a folder of static files, on a web server or on a disk. Everything that a hub sends is untrusted: its files
are checked against the digests in its ``root.json`` before they are read, and its texts are stripped of control
characters before they are shown.
"""
