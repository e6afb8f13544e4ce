"""GEM's hub seen from a client: search its catalogue, install, lock, audit and verify its packages.

A hub is a folder of static files on a web server or a disk. The client treats everything that a hub sends as
untrusted: it checks each file against the digests in ``root.json`` before it reads the file, and strips texts of
control characters before it shows them. The package imports nothing of gem-core.
"""

__version__ = "0.1.0"
