"""Which guides answer a question in a user's own words: :class:`GuideIndex`.

Pages, their sections and the questions that they are known to answer are ranked by BM25F (S. Robertson and H. Zaragoza,
"The Probabilistic Relevance Framework: BM25 and Beyond", 2009, equations 3.15 and 3.18): a word counts more in a title
than in a text, each further time less, and a rare word more than a common one. Words are compared by their stems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import NamedTuple

from gem_hub_client.query_terms import query_terms
from gem_hub_client.stem import stem
from gem_hub_client.tokenize import tokenize

__all__ = [
    "ABOUT_THE_PROJECT",
    "BACKGROUND",
    "MEANINGS",
    "OF_MEANING",
    "Found",
    "GuideIndex",
    "Section",
    "Weights",
    "questions_of",
    "sections_of",
]

_SATURATION = 3.0
_LENGTH = 0.8
"""How much the length of a text counts against it: 0 not at all, 1 in full."""
_TITLE, _HEADING, _TEXT = 8.0, 4.0, 1.0
OF_MEANING = 0.5
"""What a word counts that is not the user's own but means it."""
BACKGROUND = 0.7
"""What a page counts that explains the project rather than a task of its users."""
ABOUT_THE_PROJECT = ("architecture", "compared", "domains", "paper")

MEANINGS = {
    "429": "rate limit retries",
    "browser": "view viewer",
    "cap": "limit price",
    "cheat": "attack hack audit",
    "crash": "fault error process",
    "docker": "container engine",
    "dockerfile": "container image",
    "dollars": "price cost",
    "env": "environment",
    "envs": "environments",
    "exploit": "attack hack audit",
    "fork": "state",
    "hf": "transformers",
    "huggingface": "transformers",
    "image": "picture",
    "images": "picture",
    "json": "jsonl",
    "log": "record",
    "logs": "recorded episodes",
    "money": "price cost",
    "parallel": "vectorization many",
    "parse": "malformed",
    "parser": "malformed lenient",
    "player": "agents",
    "players": "agents",
    "podman": "container engine",
    "remote": "server address",
    "resume": "continue interrupted",
    "restore": "state",
    "rubric": "reward judge",
    "scorer": "reward grader",
    "screenshot": "picture",
    "transcript": "episode conversation view",
    "transcripts": "episode conversation view",
    "tutorial": "first start",
    "vec": "vectorization vector",
    "vision": "picture",
}
"""Words of users, and of other libraries, → those of the guides."""

Weights = dict[str, dict[int, float]]
"""Stem → number of a text → what the stem adds to the text's score."""

_HEADING_LINE = re.compile(r"(#{1,4})\s+(.+?)\s*#*$")
_ASKED = re.compile(r"^\| (?P<question>.+?) \| \[.+?\]\((?:guides/)?(?P<page>[\w-]+)\.md\) \|$", re.MULTILINE)


class Section(NamedTuple):
    """A part of a page, up to the next heading."""

    page: str
    heading: str
    """The page's title for its beginning."""
    text: str


class Found(NamedTuple):
    """A page that answers a question, and the section of it that does so best."""

    page: str
    section: str
    score: float


def sections_of(page: str, text: str) -> Iterator[Section]:
    """Yield the sections of a Markdown page; a line that begins with # within a block of code is no heading."""
    heading, lines, in_code = page, list[str](), False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        match = None if in_code else _HEADING_LINE.match(line)
        if match is None:
            lines.append(line)
            continue
        if any(map(str.strip, lines)):
            yield Section(page, heading, "\n".join(lines))
        heading, lines = match[2].replace("`", ""), []
    yield Section(page, heading, "\n".join(lines))


def questions_of(text: str) -> list[tuple[str, str]]:
    """Return the questions in the tables of a Markdown page, each with the name of the page that its row links to."""
    return [(match["question"], match["page"]) for match in _ASKED.finditer(text)]


class GuideIndex:
    """An index of pages.

    Args:
        pages: name → Markdown. The first section of each is its title and introduction.
        questions: questions that a page is known to answer, each with the name of the page.
    """

    def __init__(self, pages: Mapping[str, str], questions: Sequence[tuple[str, str]]) -> None:
        sections = {name: list(sections_of(name, text)) for name, text in pages.items()}
        self.names = list(pages)
        self.sections = [section for page in sections.values() for section in page]
        self.asked = [page for _, page in questions]
        self.by_page = _weights(
            [
                (_TITLE, f"{name} {page[0].heading}"),
                *((_HEADING, section.heading) for section in page[1:]),
                *((_TEXT, section.text) for section in page),
            ]
            for name, page in sections.items()
        )
        self.titles = [page[0].heading for page in sections.values()]
        self.by_section = _weights([(_HEADING, section.heading), (_TEXT, section.text)] for section in self.sections)
        self.by_question = _weights([(_TEXT, question)] for question, _ in questions)

    def search(self, question: str) -> list[Found]:
        """Return the pages that have a word of a question, the best first."""
        terms = _terms(question)
        scores = Counter({self.names[number]: score for number, score in _scores(self.by_page, terms).items()})
        sections = _best(_scores(self.by_section, terms), [section.page for section in self.sections])
        asked = _best(_scores(self.by_question, terms), self.asked)
        for found in (sections, asked):
            scores.update({page: score for page, (score, _) in found.items()})
        answers = [
            Found(
                page,
                self.sections[sections[page][1]].heading if page in sections else page,
                score * (BACKGROUND if page in ABOUT_THE_PROJECT else 1.0),
            )
            for page, score in scores.items()
        ]
        return sorted(answers, key=lambda answer: (-answer.score, answer.page))


def _terms(question: str) -> dict[str, float]:
    """Return the stems of a question's telling words and of what these mean, each with what it counts."""
    words = [term.word for term in query_terms(question)]
    terms = {stem(word): 1.0 for word in words}
    for word in words:
        for meaning in MEANINGS.get(word, "").split():
            terms.setdefault(stem(meaning), OF_MEANING)
    return terms


def _scores(table: Weights, terms: Mapping[str, float]) -> Counter[int]:
    scores = Counter[int]()
    for term, counts in terms.items():
        for number, weight in table.get(term, {}).items():
            scores[number] += counts * weight  # type: ignore[assignment]  # Counter adds any numbers
    return scores


def _best(scores: Mapping[int, float], pages: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Return page → the score and the number of the best of its texts."""
    best: dict[str, tuple[float, int]] = {}
    for number, score in scores.items():
        best[pages[number]] = max(best.get(pages[number], (0.0, 0)), (score, number))
    return best


def _weights(texts: Iterable[Sequence[tuple[float, str]]]) -> Weights:
    """Return the weights of all words of texts; each text has fields with a weight of their own."""
    counted = []
    for fields in texts:
        counts: dict[str, float] = {}
        for weight, text in fields:
            for word in map(stem, tokenize(text)):
                counts[word] = counts.get(word, 0.0) + weight
        counted.append((counts, sum(counts.values())))
    average = sum(length for _, length in counted) / max(len(counted), 1)
    having = Counter(word for counts, _ in counted for word in counts)
    table: Weights = {}
    for number, (counts, length) in enumerate(counted):
        stretch = _SATURATION * (1 - _LENGTH + _LENGTH * length / average)
        for word, count in counts.items():
            tells = log(1 + (len(counted) - having[word] + 0.5) / (having[word] + 0.5))
            table.setdefault(word, {})[number] = tells * count / (count + stretch)
    return table
