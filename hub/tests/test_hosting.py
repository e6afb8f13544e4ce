from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from toy_hub import synthetic_release

from gem_hub.hosting import Settings, headers, nginx, redirects
from gem_hub.store import Store

FALLBACK = "https://index.example/simple"


def test_json_pages_get_the_type_that_installers_take() -> None:
    """Every JSON page below ``simple/`` is announced as the simple API, in the settings of each host."""
    text = headers().decode()
    for path in ("/simple/index.json", "/simple/:name/index.json"):
        assert f"{path}\n  Content-Type: application/vnd.pypi.simple.v1+json\n" in text
    assert "default_type application/vnd.pypi.simple.v1+json;" in nginx(Settings()).decode()


def test_what_changes_is_never_kept_and_what_is_named_by_its_content_always() -> None:
    """Pages are asked for again each time; wheels and catalogue files are immutable."""
    blocks = dict(block.split("\n", 1) for block in headers().decode().split("\n\n"))
    for path in ("/root.json", "/envs/*", "/simple/*", "/trust/*", "/log/*"):
        assert "Cache-Control: no-cache" in blocks[path]
    for path in ("/files/*", "/catalog/*"):
        assert "immutable" in blocks[path]


def test_unknown_names_go_to_the_fallback_only_if_there_is_one() -> None:
    """Without a setting nobody is sent anywhere."""
    assert redirects(Settings()).startswith(b"#")
    assert b"redirect" not in nginx(Settings())
    settings = Settings(fallback=FALLBACK)
    assert redirects(settings) == b"/simple/* https://index.example/simple/:splat 302\n"
    assert b"rewrite ^/simple/(.*)$ https://index.example/simple/$1 redirect;" in nginx(settings)


@pytest.mark.parametrize(
    "address", ["ftp://x/simple/", "index.example", "https://x/;}", "https://x/ y", "https:///a", "/"]
)
def test_a_fallback_is_a_plain_address(address: str) -> None:
    """Nothing that a web server's settings would read as more than an address is taken."""
    with pytest.raises(ValidationError, match="must be an http address"):
        Settings(fallback=address)


def test_the_setting_lies_in_the_hub(store: Store) -> None:
    """``hub.json`` decides what a rebuild writes."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    (store.folder / "hub.json").write_text(json.dumps({"format": 1, "fallback": FALLBACK}), encoding="utf-8")
    assert store.rebuild() == ["_redirects", "nginx.conf"]
