"""Structures on the words and letters of texts."""

from __future__ import annotations

from gem_envs_code.problems.samples import sentences, word_lists
from gem_envs_code.problems.structure import structure

count_words = structure(
    "easy",
    "Return the number of words of `text` that $what. Words are separated by one or more blanks, the only white space, "
    "and punctuation belongs to its word. The text has up to 1,000 characters and may be empty.",
    code="""
def count_words(text: str) -> int:
    return sum(1 for word in text.split() if $test)
""",
    second="""
def count_words(text):
    import re
    total = 0
    for word in re.findall("[^ ]+", text):
        if $also:
            total += 1
    return total
""",
    fields="what test also",
    variants={
        "vowel": (
            "begin with a vowel (one of a, e, i, o, u, in either case)",
            "word[0].lower() in 'aeiou'",
            "re.match('[aeiouAEIOU]', word)",
        ),
        "digit": (
            "contain at least one of the digits 0 to 9",
            "any(c in '0123456789' for c in word)",
            "re.search('[0-9]', word)",
        ),
        "palindrome": (
            "read the same backwards, where capital and small letters count as equal",
            "word.lower() == word.lower()[::-1]",
            "all(word[i].lower() == word[-1 - i].lower() for i in range(len(word)))",
        ),
        "repeat": (
            "contain some character twice or more, where capital and small letters count as different",
            "len(set(word)) < len(word)",
            "any(word.count(c) > 1 for c in word)",
        ),
        "long": ("have five characters or more", "len(word) >= 5", "word[4:]"),
    },
    examples=[("Anna saw 2 big level7 apples",), ("Who?",)],
    tests=sentences,
    wrong=[
        (".split()", ".split(' ')", "digit repeat long"),
        (".lower()", ""),
        ("'aeiou'", "'aeio'"),
        (">= 5", "> 5"),
        ("0123456789", "13579"),
        ("< len(word)", "< len(word) - 1"),
    ],
)

pick_word = structure(
    "easy",
    "Return the word of a list $what. The list holds 1 to 100 words of lower-case letters.",
    code="""
def pick_word(words: list[str]) -> str:
    return $pick
""",
    second="""
def pick_word(words):
    best = words[0]
    for word in words[1:]:
        if $better:
            best = word
    return best
""",
    fields="what pick better",
    variants={
        "longest-first": (
            "that has the most letters; if several do, the one that stands first",
            "max(words, key=len)",
            "len(word) > len(best)",
        ),
        "shortest-last": (
            "that has the fewest letters; if several do, the one that stands last",
            "min(reversed(words), key=len)",
            "len(word) <= len(best)",
        ),
        "longest-alphabetical": (
            "that has the most letters; if several do, the one that comes first in the alphabet",
            "min(words, key=lambda word: (-len(word), word))",
            "len(word) > len(best) or (len(word) == len(best) and word < best)",
        ),
        "most-vowels": (
            "that contains the most vowels (a, e, i, o, u, each counted as often as it occurs); if several do, the one "
            "that stands first",
            "max(words, key=lambda word: sum(letter in 'aeiou' for letter in word))",
            "len([c for c in word if c in 'aeiou']) > len([c for c in best if c in 'aeiou'])",
        ),
        "most-different": (
            "that contains the most different letters; if several do, the one that stands last",
            "max(reversed(words), key=lambda word: len(set(word)))",
            "len(set(word)) >= len(set(best))",
        ),
        "last-reversed": (
            "that comes last in the alphabet when every word is read from right to left",
            "max(words, key=lambda word: word[::-1])",
            "list(reversed(word)) > list(reversed(best))",
        ),
    },
    examples=[(["plum", "fig", "pear", "kiwi", "date"],), (["queue", "seas", "abba", "abcde"],)],
    tests=word_lists,
    wrong=[
        ("key=len", "key=str"),
        ("reversed(words)", "words"),
        ("-len(word)", "len(word)"),
        ("(words,", "(words[::-1],", "longest-alphabetical last-reversed"),
    ],
)

sort_words = structure(
    "easy",
    "Return the words of a list in a new order: $what. The list holds up to 100 words of lower-case letters and "
    "must not "
    "be changed.",
    code="""
def sort_words(words: list[str]) -> list[str]:
    return $expression
""",
    second="""
def sort_words(words):
    result = []
    for word in words:
        place = len(result)
        while place and (
            $before
        ):
            place -= 1
        result.insert(place, word)
    return result
""",
    fields="what expression before",
    variants={
        "length": (
            "shorter words first; words of the same length keep the order that they have in the list",
            "sorted(words, key=len)",
            "len(word) < len(result[place - 1])",
        ),
        "length-falling": (
            "longer words first, and words of the same length in alphabetical order",
            "sorted(words, key=lambda word: (-len(word), word))",
            "(-len(word), word) < (-len(result[place - 1]), result[place - 1])",
        ),
        "last-letter": (
            "by the last letter, from a to z; words with the same last letter keep their order",
            "sorted(words, key=lambda word: word[-1])",
            "ord(word[len(word) - 1]) < ord(result[place - 1][len(result[place - 1]) - 1])",
        ),
        "vowels": (
            "by the number of vowels (a, e, i, o, u), fewest first; words with the same number keep their order",
            "sorted(words, key=lambda word: sum(map(word.count, 'aeiou')))",
            "len([c for c in word if c in 'aeiou']) < len([c for c in result[place - 1] if c in 'aeiou'])",
        ),
        "anagrams": (
            "by their letters in alphabetical order, as if `tea` were written `aet`; words with the same letters keep "
            "their order",
            "sorted(words, key=sorted)",
            "''.join(sorted(word)) < ''.join(sorted(result[place - 1]))",
        ),
        "backwards": (
            "from z to a, but a word comes before every longer word that begins with it, as in a dictionary",
            "sorted(words, key=lambda word: [-ord(letter) for letter in word])",
            "word != result[place - 1]\n"
            "and (result[place - 1].startswith(word)\n"
            "     or (word > result[place - 1] and not word.startswith(result[place - 1])))",
        ),
    },
    examples=[(["pear", "fig", "apple", "kiwi", "tea", "eat"],), (["b", "ab", "abc"],)],
    tests=word_lists,
    wrong=[
        ("sorted(words, key=len)", "sorted(words)"),
        ("sorted(words, ", "sorted(set(words), "),
        ("(words, ", "(words[::-1], ", "length-falling backwards"),
        ("-len(word)", "len(word)"),
        ("'aeiou'", "'aeio'"),
        ("-ord(letter)", "ord(letter)"),
    ],
)

change_words = structure(
    "easy",
    "Change every word of `text`: $what. A word is a longest run of characters other than blanks. All blanks stay as "
    "they are. The text has up to 1,000 characters and may be empty.",
    code="""
def change_words(text: str) -> str:
    return " ".join($new for word in text.split(" "))
""",
    second="""
def change_words(text):
    import re
    return re.sub("[^ ]+", lambda match: $also, text)
""",
    fields="what new also",
    variants={
        "reverse": ("write it backwards", "word[::-1]", "''.join(reversed(match[0]))"),
        "swap-ends": (
            "swap its first and last characters",
            "word if len(word) < 2 else word[-1] + word[1:-1] + word[0]",
            "re.sub('^(.)(.*)(.)$', lambda m: m[3] + m[2] + m[1], match[0])",
        ),
        "double-vowels": (
            "write each of the vowels a, e, i, o, u in it twice, in either case",
            "''.join(c * 2 if c.lower() in 'aeiou' else c for c in word)",
            "re.sub('([aeiouAEIOU])', lambda m: m[1] + m[1], match[0])",
        ),
        "move-first": (
            "move its first character to its end and write `ay` after it",
            "word and word[1:] + word[0] + 'ay'",
            "match[0][1:] + match[0][:1] + 'ay'",
        ),
        "middle": (
            "keep its first and last characters and replace each character between them by an asterisk",
            "word if len(word) < 3 else word[0] + '*' * (len(word) - 2) + word[-1]",
            "''.join('*' if 0 < i < len(match[0]) - 1 else c for i, c in enumerate(match[0]))",
        ),
        "alternate": (
            "its first, third, fifth … letters become capitals and the other letters small",
            "''.join(c.lower() if i % 2 else c.upper() for i, c in enumerate(word))",
            "''.join([c.upper(), c.lower()][i % 2] for i, c in enumerate(match[0]))",
        ),
    },
    examples=[("Blue  sky at noon",), ("I see it",)],
    tests=sentences,
    wrong=[
        ('split(" ")', "split()"),
        (".lower() in", " in"),
        ("word[1:]", "word[:-1]"),
        ("< 3", "< 4"),
        ("i % 2", "(i + 1) % 2"),
        ("word[::-1]", "word[-1:0:-1]"),
        ("1:-1", "1:-2"),
    ],
)
