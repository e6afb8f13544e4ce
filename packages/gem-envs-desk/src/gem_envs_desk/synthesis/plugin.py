"""The plugin of GEM that makes packages from descriptions."""

from gem.plugins import Named, hookimpl

__all__: list[str] = []

_SOURCES = "gem_envs_desk.synthesis.sources"


@hookimpl
def gem_scaffold_sources() -> Named:
    """Return the makers of packages by the scheme or the suffix of a source."""
    of_file = f"{_SOURCES}:from_file"
    return {
        "mcp": f"{_SOURCES}:from_server",
        ".json": of_file,
        ".yaml": of_file,
        ".yml": of_file,
        ".md": f"{_SOURCES}:from_text",
    }
