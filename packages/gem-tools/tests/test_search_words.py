"""What a word is for BM25: code-like names, and scripts without spaces."""

from __future__ import annotations

import pytest
import tantivy
from hypothesis import given
from hypothesis import strategies as st

from gem_tools.search.corpus import Document
from gem_tools.search.index import LocalIndex
from gem_tools.search.words import TOKENIZER, indexed_words, queried_words

TEXTS = {
    "cpp": "C++ has templates, and g++ compiles them.",
    "csharp": "C# is a language by Microsoft.",
    "c": "C is a small language.",
    "japanese": "日本語は日本で話されている言語です。",
    "chinese": "北京是中国的首都。",
    "book": "本日の天気。",
    "cat": "黒猫がいる。",
    "korean": "학교에서 공부한다.",
    "thai": "กรุงเทพเป็นเมืองหลวงของไทย",
    "mixed": "Python言語の本, ３rd edition",
}


@pytest.fixture(scope="module")
def index() -> LocalIndex:
    return LocalIndex.write(Document(name, text) for name, text in TEXTS.items())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("C++", ["cpp"]),
        ("c#", ["csharp"]),
        ("C", ["c"]),
        ("g++ errors", ["cpp"]),
        ("C++17 or C#?", ["csharp", "cpp"]),
        ("日本語", ["japanese"]),
        ("日本", ["japanese"]),
        ("首都", ["chinese"]),
        ("猫", ["cat"]),
        ("학교", ["korean"]),
        ("เมืองหลวง", ["thai"]),
        ("python 言語", ["mixed", "japanese"]),
        ("c++ 日本語", ["japanese", "cpp"]),
        ("㊙", []),
    ],
)
def test_words_of_code_and_of_scripts_without_spaces_are_found(index: LocalIndex, query: str, found: list[str]) -> None:
    """Names such as C++ are not the letter before them, and a word within a sentence without spaces is found."""
    hits = [hit.id for hit in index.search(query, 3)]
    assert sorted(hits) == sorted(found) if len(found) > 1 else hits == found


def test_contents_come_back_unchanged(index: LocalIndex) -> None:
    """The division into words does not show."""
    for name, text in TEXTS.items():
        assert {hit.id: hit.contents for hit in index.search(text, 10)}[name] == text


def tokens(tokenizer: tantivy.Tokenizer, text: str) -> list[str]:
    found: list[str] = tantivy.TextAnalyzerBuilder(tokenizer).build().analyze(text)
    return found


@given(st.text(alphabet=st.characters(exclude_characters="+#", exclude_categories=("Cs",), max_codepoint=0x2FF)))
def test_other_text_has_the_words_that_it_always_had(text: str) -> None:
    """Runs of letters and digits, as tantivy's simple tokenizer has them."""
    assert tokens(TOKENIZER, text) == tokens(tantivy.Tokenizer.simple(), text)
    assert indexed_words(text) == queried_words(text) == text


@given(st.text(alphabet="日本語의ไ a+#", max_size=20))
def test_every_pair_of_a_run_is_a_word_of_query_and_document(text: str) -> None:
    """Each word of a query over a document's own text is a word of the document."""
    assert set(queried_words(text).split()) <= set(indexed_words(text).split())
