"""The pages of a hub while it is served."""

from __future__ import annotations

from pathlib import Path

from toy_hub import make_wheel, publish_wheel

from gem_hub.events import Yank
from gem_hub.site.refresh import SiteRefresher
from gem_hub.store import Store


def page(store: Store, path: str) -> str:
    return (store.files.read(path) or b"").decode()


def test_pages_follow_each_change(store: Store, tmp_path: Path) -> None:
    """There is a page at the top from the beginning, and a package's page says at once what was published."""
    store.rebuild()
    refresher = SiteRefresher(store, clock=lambda: 0.0)  # no time passes while it works
    refresher.refresh()
    assert "No package has been published yet" in page(store, "index.html")
    publish_wheel(store, make_wheel(tmp_path))
    refresher.refresh()
    assert "gem hub use" in page(store, "index.html")
    assert "toy-envs" in page(store, "index.html")
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason="loses rewards"))
    refresher.refresh()
    assert "loses rewards" in page(store, "p/toy-envs/index.html")
    assert "p/toy-envs" not in page(store, "index.html")


def test_lists_of_all_packages_are_written_in_a_share_of_the_time(store: Store, tmp_path: Path) -> None:
    """While they rest, the page of a new package is there all the same, and the lists come later."""
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    refresher = SiteRefresher(store, clock=clock)
    publish_wheel(store, make_wheel(tmp_path))
    refresher.refresh()
    publish_wheel(store, make_wheel(tmp_path, "more-quests", ids=["more:Thing-v0"]))
    refresher.refresh()
    assert "more-quests" in page(store, "p/more-quests/index.html")
    assert "more-quests" not in page(store, "index.html")
    now[0] += 100
    refresher.refresh()
    assert "more-quests" in page(store, "index.html")


def test_a_damaged_hub_is_still_served(store: Store, tmp_path: Path) -> None:
    """The thread reports what is wrong and goes on."""
    said: list[str] = []
    publish_wheel(store, make_wheel(tmp_path))
    (store.folder / "releases/toy-envs/0.1.0.json").write_text("{}")
    refresher = SiteRefresher(store, said.append)
    assert refresher.work_and_pause() > 0
    assert "could not be written" in said[0]
