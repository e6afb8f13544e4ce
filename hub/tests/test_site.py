from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner
from site_pages import Element, conformance_record, documents, parsed
from toy_hub import MOMENT, contents, publish_wheel, synthetic_release

from gem_hub.events import Conformance, Deprecate, Quarantine, Yank
from gem_hub.first_observations import as_text
from gem_hub.hosting import headers
from gem_hub.records import Environment, Release
from gem_hub.site import POLICY, pages, site_files
from gem_hub.site.build import ON_A_PAGE
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_testing.clauses import CLAUSES

COMMON = {"by": "someone", "created": MOMENT}
SCORE = {
    "episodes": 32,
    "mean": 0.4375,
    "standard_error": 0.0884,
    "success_rate": 0.5,
    "mean_turns": 3.0,
    "error": "",
}
BEST = {**SCORE, "mean": 1.0, "standard_error": 0.0, "success_rate": 1.0}
HOSTILE = "</code></p></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'\u202e{{1234*5678}}<b>"
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def toys(
    name: str = "toy-envs", version: str = "0.1.0", ids: tuple[str, ...] = ("toy:Thing-v0",), **changes: Any
) -> Any:
    """Return a release of toy environments; ``changes`` go into its metadata."""
    release, _ = synthetic_release(name, version, ids)
    return release.model_copy(update={"metadata": release.metadata.model_copy(update=changes)})


def conformance(record: dict[str, Any], examples: dict[str, str] | None = None) -> Conformance:
    """Return the event that adds a record to the toys."""
    return Conformance(name="toy-envs", version="0.1.0", record=record, examples=examples or {}, **COMMON)


def hostile_documents() -> list[dict[str, Any]]:
    """Return a package whose every free text is hostile, huge or both."""
    environment = Environment(
        id="toy:Thing-v0",
        entry_point="toys:Thing",
        description=HOSTILE + "x" * 100_000,
        tags=[HOSTILE, "../../index.html", "javascript:alert(1)", "con", "a b", "Fine", "fine"],
        modality=[HOSTILE],
        requires=[HOSTILE],
        reward_range=[0.0, 1.0],
        reference_policy="toys:Policy",
    )
    release = toys(
        summary=(HOSTILE * 30)[:2000],
        description=HOSTILE + "\n\n[x](javascript:alert(1)) ![y](https://tracker.example/y.png)",
        description_content_type="text/markdown",
        licence=HOSTILE,
        author=HOSTILE,
        keywords=[HOSTILE],
        project_urls={HOSTILE: "https://fine.example/", "Bad": "javascript:alert(1)", "Odd": 'https://x/"><script>'},
    ).model_copy(update={"environments": [environment], "publisher": HOSTILE.replace("\u202e", "")})
    record = conformance_record(
        {"toy:Thing-v0": {"contract.step": "violated", HOSTILE: "not tested"}},
        gem_core=HOSTILE,
        scores={"random": {**SCORE, "mean": None, "error": HOSTILE}},
        message=HOSTILE * 100,
    )
    return documents(
        [release, toys(version="0.2.0").model_copy(update={"environments": [environment]})],
        [
            conformance(record, {"toy:Thing-v0": HOSTILE * 50}),
            Yank(name="toy-envs", version="0.2.0", reason="<script>alert(1)</script>", **COMMON),
            Deprecate(name="toy-envs", reason="<script>alert(1)</script>", **COMMON),
        ],
    )


def ordinary_documents() -> list[dict[str, Any]]:
    """Return packages in every state."""
    record = conformance_record(
        {"toy:Thing-v0": {"contract.step": "holds", "reward.reference": "not tested"}},
        scores={"random": SCORE, "reference": BEST},
        message="there is no reference policy",
    )
    evil = toys(
        "evil-envs", description="[more](https://evil.example/)", project_urls={"Home": "https://evil.example/"}
    )
    own_tag = [Environment(id="evil:Thing-v0", entry_point="toys:Thing", description="x", tags=["evil"])]
    evil = evil.model_copy(update={"environments": own_tag})
    return documents(
        [
            toys(description="# Toys\n\nSome *text*.", description_content_type="text/markdown"),
            toys("gone-envs", ids=("gone:Thing-v0",)),
            evil,
            toys("old-envs", ids=("old:Thing-v0",)),
            toys("empty-envs", ids=()),
            synthetic_release("new-envs", "0.1.0", ("new:Thing-v0", "new:Thing-v0-hard"), mode="source")[0],
        ],
        [
            conformance(record, {"toy:Thing-v0": "A board:\n  1 | 2\n"}),
            Yank(name="gone-envs", version="0.1.0", reason="rewards were doubled", **COMMON),
            Quarantine(name="evil-envs", reason="reads credentials", **COMMON),
            Deprecate(name="old-envs", reason="toy-envs has all of it", **COMMON),
        ],
    )


def html_of(files: dict[str, bytes]) -> dict[str, Element]:
    """Return the parsed pages."""
    return {path: parsed(content) for path, content in files.items() if path.endswith(".html")}


@pytest.fixture(scope="module", params=["ordinary", "hostile", "empty"])
def site(request: pytest.FixtureRequest) -> dict[str, bytes]:
    """All files of a catalogue."""
    return pages({"ordinary": ordinary_documents, "hostile": hostile_documents, "empty": list}[request.param]())


def test_nothing_foreign_is_active(site: dict[str, bytes]) -> None:
    """Scripts are the hub's own two, nothing but links leads outside, and no attribute holds code."""
    for path, page in html_of(site).items():
        for element in page.all():
            assert not [name for name in element.attributes if name.startswith("on") or name in ("style", "srcdoc")]
            address = element.attributes.get("href", element.attributes.get("src", ""))
            if element.name == "img":
                assert re.fullmatch(r"\.\./\.\./badges/[a-z0-9-]+\.svg", address)
            assert element.name not in ("iframe", "object", "embed", "form") or element.attributes["id"] == "search"
            if element.name == "script":
                assert re.fullmatch(r"(\.\./\.\./|/)?static/(page|search)\.js", address)
                assert element.text == ""
            elif urlsplit(address).scheme:
                assert element.name == "a", f"{path} loads {address}"
                assert urlsplit(address).scheme in ("http", "https")
                assert element.attributes["rel"] == "nofollow noopener noreferrer"
        text = site[path].decode()
        assert not set(text) & BIDI
        assert str(1234 * 5678) not in text


def test_every_page_has_the_policy_before_anything_it_governs(site: dict[str, bytes]) -> None:
    """The content policy comes before the first style sheet and script, and is what web servers are told to send."""
    for page in html_of(site).values():
        head = page.one("head")
        metas = [child for child in head.children if isinstance(child, Element)][:2]
        assert metas[1].attributes == {"http-equiv": "Content-Security-Policy", "content": POLICY}
    assert "'unsafe" not in POLICY
    sent = re.search(r"Content-Security-Policy: (.+)", headers().decode())
    assert sent is not None
    of_server, of_page = ({d.split()[0]: d.split()[1:] for d in text.split("; ")} for text in (sent[1], POLICY))
    assert of_page == {name: of_server[name] for name in of_page}


def test_every_internal_link_resolves(site: dict[str, bytes]) -> None:
    """Links, styles and scripts lead to files that are there, fragments to elements that are there."""
    parsed_pages = html_of(site)
    for path, page in parsed_pages.items():
        for element in page.all():
            address = element.attributes.get("href", element.attributes.get("src"))
            if address is None or urlsplit(address).scheme:
                continue
            parts = urlsplit(address)
            target = path
            if parts.path:
                steps = [] if parts.path.startswith("/") else list(PurePosixPath(path).parent.parts)
                for step in unquote(parts.path).strip("/").split("/"):
                    steps = steps[:-1] if step == ".." else [*steps, step]
                target = "/".join(steps)
            if target.startswith(("badges/", "envs/", "files/", "provenance/")):
                continue
            assert target in site, f"{path} leads to {address}"
            if parts.fragment:
                assert parsed_pages[target].all(id=parts.fragment), f"{path} leads to {address}"


def test_pages_can_be_found_by_everybody(site: dict[str, bytes]) -> None:
    """A language, a title, landmarks, one first heading, no skipped level, labelled fields, tables with headers."""
    for path, page in html_of(site).items():
        assert page.one("html").attributes["lang"] == "en"
        assert page.one("title").text.strip()
        for landmark in ("header", "main", "footer"):
            page.one(landmark)
        levels = [int(e.name[1]) for e in page.all() if re.fullmatch("h[1-6]", e.name)]
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), path
        ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
        assert len(ids) == len(set(ids))
        labels = {label.attributes["for"] for label in page.all("label")}
        assert {field.attributes["id"] for field in page.all("input")} == labels
        for button in page.all("button"):
            assert button.attributes["aria-label"]
        for table in page.all("div", role="region"):
            assert table.attributes["tabindex"] == "0"
            assert {"aria-label", "aria-labelledby"} & table.attributes.keys()
        assert all(
            cell.attributes.get("scope") in ("col", "row")
            for t in page.all("table")
            for cell in t.all("th", scope="col")
        )
        assert all(svg.attributes.get("aria-hidden") == "true" for svg in page.all("svg"))


def test_huge_texts_do_not_make_huge_pages() -> None:
    """A description of 100,000 characters and thousands of messages leave a page that a person can load."""
    assert max(map(len, pages(hostile_documents()).values())) < 400_000


def test_pages_are_the_same_bytes_each_time() -> None:
    """Pages depend on the packages alone, and not on their order."""
    known = ordinary_documents()
    assert pages(known) == pages(reversed(known)) == dict(site_files(iter(known)))


def test_a_quarantined_package_is_not_offered() -> None:
    """Its page says why and offers no command, file or link; no list, tag or search leads to it."""
    files = pages(ordinary_documents())
    page = parsed(files["p/evil-envs/index.html"])
    assert "reads credentials" in page.one("div", role="note").text
    assert not page.all("div", **{"class": "command"})
    assert "gem hub install" not in page.text
    assert not [a for a in page.all("a") if ".whl" in a.attributes["href"] or "evil.example" in a.attributes["href"]]
    others = [content for path, content in files.items() if not path.startswith("p/evil-envs/")]
    assert not [content for content in others if b"evil-envs" in content]


def test_yanks_and_deprecations_are_explained() -> None:
    """A yanked version stands in the table with its reason, and a deprecated package says what to use instead."""
    files = pages(ordinary_documents())
    gone = parsed(files["p/gone-envs/index.html"])
    assert "rewards were doubled" in gone.one("tr", **{"class": "yanked"}).text
    assert not gone.all("div", **{"class": "command"})
    old = parsed(files["p/old-envs/index.html"])
    assert "toy-envs has all of it" in old.one("div", role="note").text
    assert old.one("div", **{"class": "command"}).one("code").text == "gem hub install old-envs"
    assert b"gone-envs" not in files["index.html"]


def test_a_package_that_is_not_released_is_installed_from_its_folder() -> None:
    """A package in mode ``source`` shows the command for a checkout."""
    page = parsed(pages(ordinary_documents())["p/new-envs/index.html"])
    assert page.one("div", **{"class": "command"}).one("code").text == "pip install ./packages/new-envs"
    (variant,) = page.all("span", **{"class": "variants"})
    assert variant.one("code").text == "-hard"


def test_the_conformance_table_is_the_record() -> None:
    """Each clause has the counts of its record, and what does not hold is told with its environment and message."""
    outcomes = {
        "toy:One-v0": {"contract.step": "holds", "contract.reward": "violated", "reward.reference": "exempt"},
        "toy:Two-v0": {"contract.step": "holds", "contract.reward": "holds", "reward.reference": "not tested"},
    }
    newer = {"toy:One-v0": {"contract.step": "violated", "later.clause": "holds"}}
    known = documents(
        [toys(ids=("toy:One-v0", "toy:Two-v0"))],
        [
            conformance(conformance_record({"toy:One-v0": {"contract.step": "violated"}}, "0.1.0")),
            conformance(conformance_record(outcomes, "0.1.0", message="reward is <inf>")),
            conformance(conformance_record(newer, "0.10.0", message="no pair")),
            conformance({**conformance_record(newer, "0.11.0"), "schema": 2}),
        ],
    )
    page = parsed(pages(known)["p/toy-envs/index.html"])
    tables = page.all("table", **{"class": "clause-table"})
    assert [table.attributes["data-gem-core"] for table in tables] == ["0.10.0", "0.1.0"]
    for table, expected in zip(tables, (newer, outcomes), strict=True):
        clauses = [clause for clauses in expected.values() for clause in clauses]
        rows = table.one("tbody").all("tr")
        assert [row.attributes["data-clause"] for row in rows] == sorted(
            set(clauses), key=[*CLAUSES, "later.clause"].index
        )
        for row in rows:
            name = row.attributes["data-clause"]
            came = [found[name] for found in expected.values() if name in found]
            counts = [came.count(outcome) for outcome in ("holds", "violated", "not tested", "exempt")]
            assert [int(cell.text) for cell in row.all("td")] == counts
            findings = [item.text for item in row.all("li")]
            assert len(findings) == sum(counts[1:])
            assert (CLAUSES[name].promise if name in CLAUSES else "") in row.text
    assert "toy:One-v0 violated: reward is <inf>" in tables[1].text
    summary = page.one("table", **{"class": "counts"}).one("tbody").all("tr")
    assert [[cell.text for cell in row.all("td")][1:6] for row in summary] == [
        ["1 of 2", "1", "1", "0", "0"],
        ["2 of 2", "3", "1", "1", "1"],
    ]


def test_scores_and_rewards_are_those_of_manifest_and_record() -> None:
    """Range, silence, target and the scores with their errors stand in one row; a minus sign is one."""
    environment = Environment(
        id="toy:Thing-v0",
        entry_point="toys:Thing",
        description="A thing.",
        reward_range=[-0.1, 1.0],
        reference_policy="toys:Policy",
        reference_return=0.9,
        null_return=0.05,
    )
    record = conformance_record(
        {"toy:Thing-v0": {"contract.step": "holds"}}, scores={"random": SCORE, "reference": BEST}
    )
    known = documents([toys().model_copy(update={"environments": [environment]})], [conformance(record)])
    page = parsed(pages(known)["p/toy-envs/index.html"])
    (row,) = page.one("table", **{"class": "figures"}).one("tbody").all("tr")
    columns = [cell.text for cell in page.one("table", **{"class": "figures"}).one("thead").all("th")]
    assert columns[4:] == ["Random policy", "Reference policy"]
    assert [term.text for term in page.one("dl", **{"class": "agents"}).all("dt")] == columns[4:]
    cells = [" ".join(cell.text.split()) for cell in row.all("td")]
    assert cells[:3] == ["−0.1 to 1", "0.05", "0.9"]
    assert cells[3].startswith("0.438 ± 0.088")
    assert "50 % solved, 32 episodes" in cells[3]
    assert cells[4].startswith("1 ± 0")
    assert float(row.one("circle", **{"class": "random"}).attributes["cx"]) == pytest.approx(
        6 + 100 * 0.5375 / 1.1, abs=0.1
    )


def test_without_scores_there_are_no_columns_for_them() -> None:
    """A package that the kit has not played has neither empty columns nor their legend."""
    page = parsed(pages(documents([toys()]))["p/toy-envs/index.html"])
    columns = [cell.text for cell in page.one("table", **{"class": "figures"}).one("thead").all("th")]
    assert columns == ["Environment", "Return", "Silence", "Target"]
    assert not page.all("dl", **{"class": "agents"})
    assert page.one("h2", id="rewards").text == "Rewards"


def test_a_long_list_has_pages() -> None:
    """Every package is reachable from the first page without a script, once."""
    count = 2 * ON_A_PAGE + 1
    files = pages(documents(toys(f"toy{number}-envs", ids=()) for number in range(count)))
    path, seen = "index.html", []
    while path:
        page = parsed(files[path])
        cards = page.one("ul", id="list").all("h3")
        seen += [card.one("a").text for card in cards]
        (following,) = page.all("a", rel="next") or [None]
        path = following.attributes["href"].removeprefix("../../") if following else ""
    assert seen == sorted(seen)
    assert len(set(seen)) == len(seen) == count


def test_tags_that_differ_in_case_share_a_page() -> None:
    """Pages are named so that they are the same on every file system."""
    release = toys()
    environments = [
        Environment(id=f"toy:{name}-v0", entry_point="toys:Thing", description="x", tags=[tag, "a b"])
        for name, tag in (("One", "Logic"), ("Two", "logic"))
    ]
    files = pages(documents([release.model_copy(update={"environments": environments})]))
    assert [path for path in files if path.startswith("tags/")] == ["tags/logic/index.html"]
    assert len(parsed(files["tags/logic/index.html"]).all("dt")) == 2


@pytest.fixture
def command(store: Store, wheel: Callable[..., Any]) -> Callable[..., Any]:
    """Run ``gem hub site`` on a hub with one wheel."""
    publish_wheel(store, wheel())

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(hub_command, ["site", *arguments, "--hub", str(store.folder)])

    return run


def test_the_command_writes_what_differs(command: Callable[..., Any], store: Store) -> None:
    """Pages are written once; a check names what was changed, lost or left over, and the next run mends it."""
    before = contents(store.folder)
    assert command("--check").exit_code == 1
    assert contents(store.folder) == before
    assert "written: p/toy-envs/index.html" in command().output
    whole = contents(store.folder)
    assert command().output == "1 package; every page is up to date\n"
    assert command("--check").exit_code == 0
    assert {path: whole[path] for path in before} == before
    assert store.rebuild(check=True) == []
    (store.folder / "index.html").write_bytes(b"changed")
    (store.folder / "static/site.css").unlink()
    (store.folder / "p/ghost").mkdir()
    (store.folder / "p/ghost/index.html").write_bytes(b"boo")
    checked = command("--check", "--json")
    assert checked.exit_code == 1
    differing = ["index.html", "p/ghost/index.html", "static/site.css"]
    assert json.loads(checked.stdout) == {"check": True, "differing": differing}
    assert command().exit_code == 0
    assert contents(store.folder) == whole
    assert not (store.folder / "p/ghost").exists()


def test_a_link_to_a_hosted_wheel_reaches_it(command: Callable[..., Any], store: Store) -> None:
    """The address of a hosted file, which is relative, is right on the package's page too."""
    command()
    page = parsed((store.folder / "p/toy-envs/index.html").read_bytes())
    (link,) = [a for a in page.all("a") if a.text.endswith(".whl")]
    assert (store.folder / "p/toy-envs" / link.attributes["href"]).resolve().is_file()


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb``, as WCAG 2.2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_stands_out(scheme: int) -> None:
    """Text and its background differ by at least 4.5 to 1, in light and dark (WCAG 2.2, level AA)."""
    style = pages([])["static/site.css"].decode()
    blocks = re.findall(r":root \{([^}]*--paper[^}]*)\}", style)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[scheme]))
    pairs = [(ink, ground) for ink in ("ink", "quiet", "accent") for ground in ("paper", "panel", "wash")]
    pairs += [("good", "good-wash"), ("bad", "bad-wash"), ("ink", "bad-wash"), ("bad", "panel")]
    for ink, ground in pairs:
        lighter, darker = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (ink, ground)


def test_records_made_in_mode_link_lead_to_their_host() -> None:
    """A linked wheel is offered at its own address."""
    release: Release = toys()
    page = parsed(pages(documents([release]))["p/toy-envs/index.html"])
    (link,) = [a for a in page.all("a") if a.text.endswith(".whl")]
    assert link.attributes["href"] == release.url


PIXEL = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("observation", "pictures", "texts"),
    [
        ([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": PIXEL}}], [PIXEL], ["Look:"]),
        ([{"type": "image_url", "image_url": PIXEL}, {"type": "text", "text": "And?"}], [PIXEL], ["And?"]),
        ([{"type": "image_url", "image_url": {"url": "https://tracker.example/p.png"}}], [], ["[image_url]"]),
        ([{"type": "image_url", "image_url": {"url": PIXEL + '"onerror="x'}}], [], ["[image_url]"]),
        ([{"type": "image_url", "image_url": {"url": PIXEL.replace("png", "svg+xml")}}], [], ["[image_url]"]),
        ([{"type": "image_url", "image_url": {"url": PIXEL[:-1] + "A" * 96_000}}], [], ["[image_url]"]),
        ("A text alone", [], ["A text alone"]),
        ("x" * 5000, [], ["x" * 3999 + "…"]),
    ],
    ids=["picture", "old form", "address", "hostile", "vectors", "huge", "text", "long text"],
)
def test_a_page_shows_the_pictures_of_an_observation(observation: Any, pictures: list[str], texts: list[str]) -> None:
    """A picture that is in the observation itself; no address, no vector graphic, nothing huge."""
    (document,) = documents([toys()], [])
    document["releases"][0]["environments"][0]["example_observation"] = as_text(observation)
    page = parsed(pages([document])["p/toy-envs/index.html"])
    example = page.one("details", **{"class": "example"})
    assert [image.attributes["src"] for image in example.all("img")] == pictures
    assert [text.text for text in example.all("pre")] == texts
    assert "img-src 'self' data:" in POLICY
