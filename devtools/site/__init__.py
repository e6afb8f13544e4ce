"""The site: the documents, a reference made from the sources, and a page for each environment.

``python3 dev.py site`` builds it. ``documents`` copies the Markdown files of the repository into one tree of pages,
``navigation`` arranges them, and ``build`` writes the front pages. The reference comes from the sources: ``public_api``
reads them, and ``python_pages``, ``named_pages`` and ``command_pages`` write its parts. Sphinx turns all of that into
HTML, and ``check`` reads the result as a browser would.
"""
