"""Checkers of IFEval's 25 verifiable instructions: does a response follow them?

Zhou, Lu, Mishra, Brahma, Basu, Luan, Zhou and Hou, "Instruction-Following Evaluation for Large Language Models", 2023
(arXiv 2311.07911), table 1. The names and arguments are those of the published rows (``google/IFEval``). Where the
paper leaves open what counts, the rule of its evaluation counts: words are runs of letters and digits, bullets begin
with one asterisk or a hyphen, and paragraphs are separated by ``***``.

Sentences and words in capitals are counted by the rules below, where the published evaluation asks NLTK; the counts
differ where abbreviations are unusual. Languages are recognised by ``langdetect``, as published, if it is installed
(``pip install gem-envs-qa[ifeval]``); a row that needs it is a DatasetError without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas import InstructionGold

__all__ = ["check_instructions", "follows", "follows_loosely"]

_LONGEST = 200_000
"""Characters of a response; a longer one follows nothing."""
_WORD = re.compile(r"\w+")
_CAPITAL = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|\Z)")
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Capt|Lt|Col|Sgt|St|Sr|Jr|vs|etc|Inc|Ltd|Co|No|Vol|Fig|approx)|\b[A-Za-z]|e\.g|i\.e|"
    r"a\.m|p\.m|U\.S|Ph\.D)\Z"
)
_BULLET = re.compile(r"^[^\S\n]*(?:\*[^*\n]|-)", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*\*[^\n*]+\*\*|\*[^\n*]+\*")
_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_FENCE = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<<([^\n<>]*[^\s<>][^\n<>]*)>>")
_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_RELATIONS = ("less than", "at least")


def check_instructions(gold: InstructionGold) -> None:
    """Raise DatasetError for an instruction that is unknown, lacks an argument, or needs a library that is missing."""
    for name, arguments in gold.instructions:
        if name not in _CHECKERS:
            raise DatasetError(f"{name!r} is no instruction of IFEval; remove the row")
        needed, _ = _CHECKERS[name]
        missing = [argument for argument in needed.split() if arguments.get(argument) is None]
        if missing:
            raise DatasetError(f"the instruction {name!r} has no {missing[0]!r}; remove the row")
        relation = next((arguments[argument] for argument in needed.split() if argument.endswith("relation")), None)
        if relation is not None and relation not in _RELATIONS:
            raise DatasetError(f"the instruction {name!r} has the relation {relation!r:.40}, not one of {_RELATIONS}")
        if name in _NEED_LANGUAGE:
            _language_profiles()


def follows(response: str, gold: InstructionGold) -> list[bool]:
    """Return whether a response follows each of the instructions, strictly; an empty response follows none."""
    if not response.strip() or len(response) > _LONGEST:
        return [False] * len(gold)
    return [_CHECKERS[name][1](response, arguments) for name, arguments in gold.instructions]


def follows_loosely(response: str, gold: InstructionGold) -> list[bool]:
    """Return the published upper bound: also without emphasis, without the first line, and without the last."""
    lines = response.split("\n")
    texts = [response, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    tried = [follows(text, gold) for text in dict.fromkeys([*texts, *(text.replace("*", "") for text in texts)])]
    return [any(results) for results in zip(*tried, strict=True)]


def _compared(count: int, relation: str, limit: int) -> bool:
    return count < limit if relation == "less than" else count >= limit


def _sentences(text: str) -> int:
    begin = count = 0
    for match in _SENTENCE_END.finditer(text):
        before = text[begin : match.start()]
        if match[0][0] == "." and _ABBREVIATED.search(before[-12:]) and match.end() < len(text.rstrip()):
            continue
        count += bool(_WORD.search(before))
        begin = match.end()
    return count + bool(_WORD.search(text[begin:]))


def _paragraphs(text: str) -> int | None:
    """Return the number of paragraphs between dividers; None if one in the middle is empty."""
    parts = [part.strip() for part in _DIVIDER.split(text)]
    if not all(parts[1:-1]):
        return None
    return sum(map(bool, parts))


def _first_word(response: str, given: Mapping[str, Any]) -> bool:
    parts = response.split("\n\n")
    number, place = given["num_paragraphs"], given["nth_paragraph"]
    if sum(bool(part.strip()) for part in parts) != number or not 1 <= place <= number or not parts[place - 1].strip():
        return False
    word = re.split(r"[.,?!'\"]", parts[place - 1].split()[0].lstrip("'\""))[0]
    return bool(word.lower() == str(given["first_word"]).lower())


def _placeholders(text: str) -> int:
    count = 0
    for line in text.split("\n"):
        begin = line.find("[")
        while begin >= 0 and (end := line.find("]", begin)) >= 0:
            count += 1
            begin = line.find("[", end)
    return count


def _postscript(response: str, given: Mapping[str, Any]) -> bool:
    marker = str(given["postscript_marker"]).strip().lower()
    pattern = {"p.p.s": r"p\.\s?p\.\s?s", "p.s.": r"p\.\s?s\."}.get(marker, re.escape(marker))
    return re.search(pattern, response.lower()) is not None


def _is_json(response: str) -> bool:
    text = response.strip()
    fenced = _FENCE.match(text)
    try:
        json.loads(text if fenced is None else fenced[1])
    except (ValueError, RecursionError):
        return False
    return True


def _two_responses(response: str) -> bool:
    parts = [part.strip() for part in response.split("******")]
    given = list(filter(None, parts))
    return all(parts[1:-1]) and len(given) == 2 and given[0] != given[1]


def _sections(response: str, given: Mapping[str, Any]) -> bool:
    mark = re.escape(str(given["section_spliter"]).strip())
    return bool(len(re.findall(rf"{mark}\s?\d+", response)) >= given["num_sections"])


def _language(text: str) -> str:
    """Return the code of a text's language, the same each time; empty if it has no words."""
    factory, no_features = _language_profiles()
    detector = factory.create()
    detector.seed = 0  # it draws samples
    detector.append(text)
    try:
        return str(detector.detect())
    except no_features:
        return ""


@cache
def _language_profiles() -> Any:
    """Return what makes detectors of languages, read once a process, and what they raise for a text without words.

    Raises:
        DatasetError: if the library is missing.
    """
    try:
        from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory
        from langdetect.lang_detect_exception import LangDetectException
    except ImportError as error:
        raise DatasetError("instructions on languages need langdetect; pip install 'gem-envs-qa[ifeval]'") from error
    factory = DetectorFactory()
    factory.load_profile(PROFILES_DIRECTORY)
    return factory, LangDetectException


_NEED_LANGUAGE = frozenset(
    ("language:response_language", "change_case:english_capital", "change_case:english_lowercase")
)

Checker = Callable[[str, Mapping[str, Any]], bool]

_CHECKERS: Mapping[str, tuple[str, Checker]] = {
    "keywords:existence": ("keywords", lambda text, g: all(k.lower() in text.lower() for k in g["keywords"])),
    "keywords:frequency": (
        "keyword frequency relation",
        lambda text, g: _compared(text.lower().count(g["keyword"].strip().lower()), g["relation"], g["frequency"]),
    ),
    "keywords:forbidden_words": (
        "forbidden_words",
        lambda text, g: (
            not any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in g["forbidden_words"])
        ),
    ),
    "keywords:letter_frequency": (
        "letter let_frequency let_relation",
        lambda text, g: _compared(text.lower().count(g["letter"].lower()), g["let_relation"], g["let_frequency"]),
    ),
    "language:response_language": ("language", lambda text, g: _language(text) in ("", g["language"])),
    "length_constraints:number_sentences": (
        "num_sentences relation",
        lambda text, g: _compared(_sentences(text), g["relation"], g["num_sentences"]),
    ),
    "length_constraints:number_paragraphs": (
        "num_paragraphs",
        lambda text, g: _paragraphs(text) == g["num_paragraphs"],
    ),
    "length_constraints:number_words": (
        "num_words relation",
        lambda text, g: _compared(len(_WORD.findall(text)), g["relation"], g["num_words"]),
    ),
    "length_constraints:nth_paragraph_first_word": ("num_paragraphs nth_paragraph first_word", _first_word),
    "detectable_content:number_placeholders": (
        "num_placeholders",
        lambda text, g: _placeholders(text) >= g["num_placeholders"],
    ),
    "detectable_content:postscript": ("postscript_marker", _postscript),
    "detectable_format:number_bullet_lists": (
        "num_bullets",
        lambda text, g: len(_BULLET.findall(text)) == g["num_bullets"],
    ),
    "detectable_format:constrained_response": ("", lambda text, _: any(option in text for option in _OPTIONS)),
    "detectable_format:number_highlighted_sections": (
        "num_highlights",
        lambda text, g: sum(bool(m.strip("*").strip()) for m in _HIGHLIGHT.findall(text)) >= g["num_highlights"],
    ),
    "detectable_format:multiple_sections": ("section_spliter num_sections", _sections),
    "detectable_format:json_format": ("", lambda text, _: _is_json(text)),
    "detectable_format:title": ("", lambda text, _: _TITLE.search(text) is not None),
    "combination:two_responses": ("", lambda text, _: _two_responses(text)),
    "combination:repeat_prompt": (
        "prompt_to_repeat",
        lambda text, g: text.strip().lower().startswith(g["prompt_to_repeat"].strip().lower()),
    ),
    "startend:end_checker": (
        "end_phrase",
        lambda text, g: text.strip().strip('"').lower().endswith(g["end_phrase"].strip().lower()),
    ),
    "startend:quotation": (
        "",
        lambda text, _: len(text.strip()) > 1 and text.strip()[0] == text.strip()[-1] == '"',
    ),
    "change_case:capital_word_frequency": (
        "capital_frequency capital_relation",
        lambda text, g: _compared(
            sum(word.isupper() for word in _CAPITAL.findall(text)), g["capital_relation"], g["capital_frequency"]
        ),
    ),
    "change_case:english_capital": ("", lambda text, _: text.isupper() and _language(text) in ("", "en")),
    "change_case:english_lowercase": ("", lambda text, _: text.islower() and _language(text) in ("", "en")),
    "punctuation:no_comma": ("", lambda text, _: "," not in text),
}
"""Instruction → the arguments that it needs, and whether a response follows it."""
