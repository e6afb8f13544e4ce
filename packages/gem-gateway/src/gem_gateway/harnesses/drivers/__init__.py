"""Scripts that run agents of libraries, each by the Python that has the library; none is imported here."""
