"""Forms and the forum over HTTP, with a client that follows links and posts forms."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, NotSupportedError
from gem_envs_web.browser.chromium import ChromiumWindow
from gem_envs_web.browser.episodes import served_episode, task_in_words
from gem_envs_web.form.env import FormEnv
from gem_envs_web.forum.env import ForumEnv
from gem_envs_web.sites.loopback import EpisodeServer, ServedEpisode
from gem_envs_web.sites.page import CHECKED, PageField


class FormReader(HTMLParser):
    """The texts, links, fields and buttons of a page, as a browser would find them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.buttons: dict[str, str] = {}
        self.action = ""
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form" and found["method"] == "post":
            self.action = found["action"] or ""
        if tag == "input" and found["type"] != "search":
            name = found["name"] or ""
            if found["type"] != "checkbox" or "checked" in found:
                self.values[name] = found["value"] or ""
        elif tag == "select":
            self.values[found["name"] or ""] = ""
        elif tag == "option" and "selected" in found:
            self.values[list(self.values)[-1]] = found["value"] or ""
        if tag not in ("input", "meta"):
            self._open.append((tag, found))

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        tag, found = self._open[-1] if self._open else ("", {})
        text = data.strip()
        if tag == "textarea":
            self.values[found["name"] or ""] = text
        elif text and tag not in ("style", "title", "option"):
            self.texts.append(text)
            if tag == "a":
                self.links[text] = found["href"] or ""
            if tag == "button" and "name" in found:
                self.buttons[text] = found["value"] or ""


class Visitor:
    """A client of one episode."""

    def __init__(self, server: EpisodeServer, address: str) -> None:
        self.server = server
        self.go(address)

    def go(self, address: str, data: bytes | None = None) -> None:
        with urllib.request.urlopen(urllib.parse.urljoin(self.server.address, address), data, timeout=60) as answer:
            self.address = answer.url
            self.page = FormReader(answer.read().decode())

    def press(self, button: str, **values: str) -> None:
        filled = {**self.page.values, **values, "-command": self.page.buttons[button]}
        self.go(self.page.action, urllib.parse.urlencode({k: v for k, v in filled.items() if v}).encode())

    def follow(self, link: str) -> None:
        links = self.page.links.items()
        self.go(next(address for text, address in links if text == link or text.startswith(f"{link}:")))


@pytest.fixture(scope="module")
def server() -> Iterator[EpisodeServer]:
    with EpisodeServer() as found:
        yield found


def world(name: str, number: int) -> Any:
    env = gem.make(name).unwrapped
    env.reset(seed=0, options={"task": number})
    return env


def filled_in(server: EpisodeServer, number: int) -> ServedEpisode:
    """Fill in the form of a task, page by page, as the letter wants it."""
    env: FormEnv = world("web:Form-v0-hard", number)
    wanted = env.task.wanted()
    episode = served_episode(env)
    visitor = Visitor(server, server.serve(episode))
    for _ in range(20):
        names = [field.name for page in env.task.pages for field in page]
        values = {name: wanted[name] for name in names if name in wanted}
        button = "Next" if "Next" in visitor.page.buttons else "Send"
        visitor.press(button, **values)
        if button == "Send":
            break
    assert visitor.page.texts[-1] == "Thank you. Your form has been sent."
    return episode


def test_a_form_over_http_is_filled_in(server: EpisodeServer) -> None:
    """Its result is the reward; before it there is none."""
    episode = served_episode(world("web:Form-v0-hard", 2))
    assert episode.result() is None
    for number in range(4):
        assert filled_in(server, number).result() == 1.0


def test_the_forum_over_http_takes_the_steps_of_a_task(server: EpisodeServer) -> None:
    """Links, buttons, fields and the search; and the pages have the texts of the text environment."""
    for number in range(12):
        for name in ("web:Forum-v0-easy", "web:Forum-v0-hard"):
            env: ForumEnv = world(name, number)
            episode = served_episode(env)
            visitor = Visitor(server, server.serve(episode))
            typed: dict[str, str] = {}
            for step in env.task.steps[:-1]:
                verb, _, rest = step.partition("[")
                target, _, value = rest[:-1].partition("][")
                labels = {f.label: f.name for f in env.page.pieces() if isinstance(f, PageField)}
                if verb == "search":
                    visitor.go(visitor.address.split("/")[3].join(("/", "/find?words=")) + urllib.parse.quote(target))
                elif verb in ("type", "select"):
                    typed[labels[target]] = value
                elif target in labels:
                    typed[labels[target]] = CHECKED
                elif target in visitor.page.buttons:
                    visitor.press(target, **typed)
                    typed = {}
                else:
                    visitor.follow(target)
                env._go(urllib.parse.urlsplit(visitor.address).path.split("/", 2)[2])
                shown = env.page.text({})
                assert all(text in shown for text in visitor.page.texts if text != "Search" and text[0] != "(")
            answer = env.task.steps[-1][len("answer[") : -1]
            assert episode.answered(answer) == 1.0, env.task.demand


def test_episodes_do_not_see_each_other(server: EpisodeServer) -> None:
    """Sixteen at once, with one server and the same task; one that is forgotten is gone."""
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: filled_in(server, 7).result(), range(16)))
    assert results == [1.0] * 16
    one, other = (served_episode(world("web:Forum-v0", 1)) for _ in range(2))
    addresses = [server.serve(one), server.serve(other)]
    visitor = Visitor(server, addresses[0])
    visitor.follow("My profile")
    visitor.press("Save profile", about="changed")
    second = Visitor(server, addresses[1])
    second.follow("My profile")
    assert second.page.values["about"] != "changed"
    server.forget(one)
    with pytest.raises(urllib.error.HTTPError) as caught:
        Visitor(server, addresses[0])
    caught.value.close()
    assert caught.value.code == 404


def test_reloading_after_a_post_repeats_nothing(server: EpisodeServer) -> None:
    """The answer to a post is a redirection to a page."""
    episode = served_episode(world("web:Forum-v0", 3))
    visitor = Visitor(server, server.serve(episode))
    visitor.follow(next(text for text in visitor.page.links if text not in ("Boards", "My profile")))
    visitor.follow("New thread")
    visitor.press("Create thread", title="A", text="B")
    visitor.go(visitor.address)
    assert "M1: A" in visitor.page.texts[0]
    visitor.follow("Boards")
    assert sum("M2" in text for text in visitor.page.texts) == 0


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/", None, 404),
        ("/nobody/boards", None, 404),
        ("/{key}/board/77/1", None, 404),
        ("/{key}/boards", b"-command=lock", 404),
        ("/{key}/boards", b"x=1&" * 2000, 400),
        ("/{key}/boards", b"x" * (1 << 20) + b"y", 413),
        ("/{key}/%00", None, 404),
    ],
)
def test_wrong_requests_are_answered(server: EpisodeServer, path: str, body: bytes | None, status: int) -> None:
    """With a status, and nothing is changed."""
    env: ForumEnv = world("web:Forum-v0-easy", 1)
    key = urllib.parse.urlsplit(server.serve(served_episode(env))).path.split("/")[1]
    connection = http.client.HTTPConnection("127.0.0.1", int(server.address.rpartition(":")[2]), timeout=60)
    try:
        connection.putrequest("GET" if body is None else "POST", path.format(key=key))
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body if body is not None and len(body) <= 1 << 20 else None)
        assert connection.getresponse().status == status
    finally:
        connection.close()
    assert not env.site.changes


def test_only_the_loopback_interface_listens(server: EpisodeServer) -> None:
    """And no two addresses of episodes have a token in common."""
    assert server._server.server_address[0] == "127.0.0.1"
    addresses = {server.serve(served_episode(world("web:Forum-v0-easy", 1))) for _ in range(3)}
    assert len({address.split("/")[3] for address in addresses}) == 3
    assert all(len(address.split("/")[3]) > 20 for address in addresses)


def test_only_websites_are_served() -> None:
    """Other environments are refused by name."""
    env = gem.make("game:GuessTheNumber-v0")
    with pytest.raises(ArgumentError, match="only shops, forms and forums"):
        served_episode(env)
    with pytest.raises(ArgumentError, match="world must be the id"):
        gem.make("web:Browser-v0", world="game:GuessTheNumber-v0")


def test_tasks_in_words_name_no_action_of_the_text_environment() -> None:
    """A visitor with a browser has others."""
    for name in ("web:Form-v0", "web:Shop-v0-easy"):
        env = gem.make(name) if "Shop" not in name else gem.make(name, products=300)
        env.reset(seed=1)
        assert "click[" not in task_in_words(env)


def test_a_missing_browser_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the packages that bring it."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NotSupportedError, match="apt-get install chromium chromium-driver"):
        ChromiumWindow()
