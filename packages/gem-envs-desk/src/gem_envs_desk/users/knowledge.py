"""What a user knows, and how it compares with what an agent says: :class:`Knowledge`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property

from gem_envs_desk.facts import numbers_in
from gem_envs_desk.task import Aim, Slot, UserScript
from gem_envs_desk.users.agreement import agrees
from gem_envs_desk.users.directions import leads_elsewhere
from gem_envs_desk.users.hearing import Heard
from gem_envs_desk.users.intents import Intent
from gem_envs_desk.users.placing import MORE_ASKS, Placed, ScriptVocabulary, content_words
from gem_envs_desk.users.stated import (
    amounts_in,
    data_in,
    names_price,
    occurs,
    own_choices,
    own_data,
    stated_choices,
)
from gem_rollout.simulated_people.sentences import Sentence

__all__ = ["Knowledge"]

_UNKNOWN_DATA = (
    "access point name", "account id", "account number", "an e-mail", "an email", "birth date", "birthdate",
    "birthday", "booking date", "by e-mail", "by email", "card number", "check your e-mail", "check your email",
    "company name", "confirmation email", "country code", "credit card number", "customer id", "customer number",
    "date of birth", "date of purchase", "date of the booking", "date of the order", "date of your booking",
    "delivery date", "discount code", "email confirmation", "error code", "flight number", "id number", "item id",
    "item name", "name of the", "name of the customer", "name of the item", "name of the passenger",
    "name of the product", "name of your", "name on the card", "network name", "number of passengers", "order date",
    "passenger details", "passenger names", "passport", "password", "payment id", "phone number", "pin",
    "postal code", "postcode", "product name", "profile name", "promo code", "purchase date", "qr code",
    "security code", "security question", "user id", "user name", "username", "verification code", "via e-mail",
    "via email", "zip code", "zip file",
)  # fmt: skip
"""What agents ask for, and users do not know, though some of the words ask for what they do."""
_ASKS_DATUM = re.compile(
    r"\b(?:what(?:'s| is| was| are)|which is|provide|give|tell|share|send|need|specify|state|enter|have|confirm|know|"
    r"verify)\b.{0,40}\b(?:your|the|an?) [\w' -]{0,40}\b(?:id|ids|number|name|date|code|password|pin|card|address|"
    r"details|"
    r"information|birth\w*|profile|username|passport|model|receipt|invoice)\b"
)
_EXEMPT = re.compile(
    r"\b(?:current\w*|original\w*|booked|placed|made|delivered|today|already|free|included|additional|extra|more|"
    r"further|has|have|"
    r"available|departs?|arriv\w+|due|or|birth|born)\b"
)
"""Where a date or a number is not what the user wants."""
_REQUEST = re.compile(r"\bplease (?:provide|specify|give|tell|state|share|name)\b|\blet me know (?:the|your|which)\b")
_THIS = re.compile(r"\b(?:this|that|the|such an?) (?:address|number|code|name|one|data|information)\b")
"""Refers to what the user has said last."""
_DEED = re.compile(r"\b(?:me|us) to\b|\b(?:i|we)(?:'ll| will| shall| should| am going to)\b")
"""Says that the agent is to do something."""
_YES_OR_NO = re.compile(r"^\W*(?:if not,? )?(?:is|are|was|were|did|does|has|have|had|do you (?!have|know|remember))\b")
_WHICH = re.compile(r"\b(?:which|what|where|when|why|how)\b.*\?")
_SOFT = frozenset({"date", "gb", "bags"})
"""Kinds of data that a message has for many reasons."""
_NO_REQUESTS = frozenset(
    {Intent.OFFERS_HELP, Intent.MORE, Intent.PROCEEDS, Intent.LOOKS_UP, Intent.NOT_FOUND, Intent.VERIFIES}
)
"""Sentences in which the words for a slot do not ask for it."""
_CLAIMS = (Intent.PROCEEDS, Intent.VERIFIES, Intent.RESTATES, Intent.PROMISES, Intent.DONE, Intent.CHECKS)
_QUESTIONS = (Intent.PROCEEDS, Intent.VERIFIES, Intent.CONFIRMS, Intent.CHECKS)


class Knowledge:
    """What a user knows while one of their wishes is discussed.

    Args:
        script: the user's.
        wish: the index of the wish.
        changed: whether they have changed their mind about it.
        asked: slot → how often they were asked for it.
        aim: what the wish comes to, where it is known.
    """

    def __init__(
        self, script: UserScript, wish: int, changed: bool, asked: dict[str, int], aim: Aim | None = None
    ) -> None:
        self.script, self.wish, self.changed, self.asked, self._aim = script, wish, changed, asked, aim
        self.slots: tuple[Slot, ...] = (*script.wishes[wish].slots, *script.slots)

    def key(self, slot: Slot) -> str:
        """Return the name of a slot among those of all wishes."""
        return slot.name if slot in self.script.slots else f"{self.wish}: {slot.name}"

    def truth(self, slot: Slot) -> str:
        """Return the right answer to a question for a slot."""
        return slot.after_change if slot.after_change and self.changed else slot.says

    def believed(self, slot: Slot) -> str:
        """Return what the user takes for the right answer."""
        return slot.wrong if self.is_mistaken(slot) else self.truth(slot)

    def placed(self, heard: Heard) -> Placed:
        """Return how the words of a message stand to the script."""
        wish = self.script.wishes[self.wish]
        truths = [self.truth(slot) for slot in self.slots]
        vocabulary = ScriptVocabulary(wish, self.slots, [*truths, *([wish.change] if self.changed else [])], self._aim)
        return vocabulary.placed(sentence for sentence, _ in heard.sentences)

    def is_mistaken(self, slot: Slot) -> bool:
        """Return whether the user has given wrong data, and not noticed."""
        return bool(slot.wrong) and self.asked.get(self.key(slot), 0) == 1

    def put_right(self, heard: Heard) -> list[Slot]:
        """Return the slots about which the user is mistaken, and the agent says what is right."""
        data: dict[str, set[str]] = {}
        for sentence, _ in heard.sentences:
            _merge(data, data_in(sentence.text))
        return [
            slot
            for slot in self.slots
            if self.is_mistaken(slot)
            and any(values & data.get(kind, set()) for kind, values in own_data(self.truth(slot)).items())
        ]

    def requested(self, heard: Heard) -> list[Slot]:
        """Return the slots that the agent asks for, in the order of the script."""
        found: set[str] = set()
        leads = {sentence.text for sentence in heard.where(Intent.ASKS)}
        for sentence, intents in heard.sentences:
            if Intent.ASKS not in intents and (sentence.is_pair or sentence.lead not in leads):
                continue
            permits = bool(intents & _NO_REQUESTS) and not _REQUEST.search(sentence.text)
            is_closed = sentence.is_question and _YES_OR_NO.search(sentence.text) is not None
            for slot in self._named(sentence):
                if is_closed and _is_code(slot):
                    continue
                if (not permits or slot.decides) and not self._states(sentence, slot):
                    found.add(self.key(slot))
        return [slot for slot in self.slots if self.key(slot) in found]

    def to_check(self, heard: Heard, last: Sequence[str], wanted: Sequence[Slot]) -> list[Slot]:
        """Return the slots that the agent does not find or wants to be checked.

        If it does not say which, they are those that it asks for now, or the last ones that the user spoke about.
        """
        sentences = [
            sentence
            for sentence, found in heard.sentences
            if Intent.NOT_FOUND in found or (Intent.RECHECKS in found and self._is_about_data(sentence))
        ]
        if not sentences:
            return []
        named = {
            self.key(slot)
            for sentence in sentences
            for meant in [self._named(sentence)]
            for slot in filter(_can_be_checked, self.slots)
            if slot in meant or (not meant and occurs(slot.name, sentence.text))
        }
        kinds = {kind for sentence in sentences for kind in data_in(sentence.text)}
        stated = {
            self.key(slot)
            for slot in self.slots
            if kinds & (own_data(self.truth(slot)).keys() | own_data(slot.wrong).keys())
        }
        if named & set(last):
            named &= set(last)
        elif last and any(_THIS.search(sentence.text) for sentence in sentences):
            named = set()
        said = {self.key(slot) for slot in self.slots if self.key(slot) in last and _can_be_checked(slot)}
        asked = {self.key(slot) for slot in wanted}
        keys = named or stated or asked or said or {self.key(slot) for slot in self.slots[:1]}
        return [slot for slot in self.slots if self.key(slot) in keys]

    def denied(self, heard: Heard) -> list[Slot]:
        """Return the slots about which the agent says something false."""
        asks = heard.has(*_QUESTIONS)
        mentioned: dict[str, set[str]] = {}
        for sentence, _ in heard.sentences:
            _merge(mentioned, data_in(sentence.text, sentence.written))
        hard: dict[str, set[str]] = {}
        soft: dict[str, set[str]] = {}
        claims = []
        for sentence, intents in heard.sentences:
            if (
                intents & {Intent.NOT_FOUND, Intent.CONDITIONAL}
                or _lists(sentence, intents)
                or _WHICH.search(sentence.text)
            ):
                continue
            data = data_in(sentence.text, sentence.written)
            _merge(hard, {kind: values for kind, values in data.items() if kind not in _SOFT})
            if intents.intersection(_CLAIMS) or (sentence.is_item and asks):
                if not _EXEMPT.search(sentence.text):
                    _merge(soft, {kind: values for kind, values in data.items() if kind in _SOFT})
                if not occurs("or", sentence.text):
                    claims.append(sentence.text)
        stated, known, elsewhere = {**hard, **soft}, self._known(), self._elsewhere()
        found = [
            slot
            for slot in self.slots
            if self._is_false(slot, stated, mentioned, known, {} if asks else elsewhere)
            or (not heard.refuses and _denies_choice(slot, self.truth(slot), claims))
            or (asks and leads_elsewhere(slot, self.truth(slot), [sentence.text for sentence, _ in heard.sentences]))
        ]
        # A false detail is denied by itself; the whole wish need not be said again.
        details = [slot for slot in found if slot.says != self.script.wishes[self.wish].says]
        return self._meant(details, heard) or found[:1]

    def _meant(self, denied: list[Slot], heard: Heard) -> list[Slot]:
        """Return those of several denied addresses that the agent means, or the first."""
        places = [slot for slot in denied if "street" in own_data(slot.says)]
        if len(places) < 2:
            return denied
        meant = [slot for sentence, _ in heard.sentences for slot in self._named(sentence) if slot in places]
        one = meant[0] if meant else places[0]
        return [slot for slot in denied if slot not in places or slot is one]

    def confirmed(self, heard: Heard) -> bool:
        """Return whether what the agent wants to be confirmed is known to the user, where nothing is denied."""
        known = self._known()
        placed = self.placed(heard)
        if placed.strange or (not placed.names_deed and any(_DEED.search(one.text) for one, _ in heard.sentences)):
            return False
        is_known = heard.asks_whole
        for sentence in heard.where(Intent.VERIFIES, Intent.CHECKS):
            for kind, values in data_in(sentence.text, sentence.written).items():
                if kind not in known or not (values <= known[kind] or kind == "name"):
                    return False
                is_known = True
            for slot in self.slots:
                is_known = is_known or bool(stated_choices(slot.choices, sentence.text))
        return is_known

    def is_granted(self, heard: Heard) -> bool:
        """Return whether the agent refuses something, but asks for permission to do what the user wants."""
        says = self.script.wishes[self.wish].says
        actions = [slot for slot in self.slots if slot.says == says and slot.choices]
        return any(
            stated_choices(slot.choices, sentence.text) == own_choices(slot.choices, says)
            for sentence in heard.where(Intent.PROCEEDS)
            for slot in actions
        )

    def states_change(self, heard: Heard) -> bool:
        """Return whether the agent states what the user is about to change their mind on."""
        slots = [slot for slot in self.slots if slot.after_change]
        return heard.asks_whole or any(
            any(values & data.get(kind, set()) for kind, values in own_data(slot.says).items())
            or stated_choices(own_choices(slot.choices, slot.says), sentence.text)
            for sentence, _ in heard.sentences
            for data in [data_in(sentence.text, sentence.written)]
            for slot in slots
        )

    def is_offer(self, sentence: Sentence) -> bool:
        """Return whether a sentence offers what the user has an opinion on."""
        return any(slot.decides for slot in self._named(sentence))

    def declined(self, heard: Heard) -> Slot | None:
        """Return the offer that the agent makes for money, and the user does not want to pay."""
        texts = [sentence.text for sentence, _ in heard.sentences]
        if not any(float(amount) for text in texts if names_price(text) for amount in amounts_in(text)):
            return None
        words = content_words(" ".join(texts))
        offers = (slot for slot in self.slots if slot.decides and not agrees(self.truth(slot)))
        return next((slot for slot in offers if any(content_words(ask) <= words for ask in slot.asks)), None)

    def offers_in_full(self, heard: Heard, slot: Slot) -> bool:
        """Return whether the agent names all numbers of an offer on which the user has an opinion, and beside them no
        others than the user's own.
        """
        numbers = {number for words in slot.asks for number in numbers_in(words)}
        own = {number for one in self.slots for number in numbers_in(self.truth(one))}
        stated = {number for sentence, _ in heard.sentences for number in numbers_in(sentence.text)}
        return stated - (own - numbers) == numbers and not self.placed(heard).strange

    def repeats_offer(self, heard: Heard) -> bool:
        """Return whether the agent names an offer in full to which the user has said yes."""
        return any(
            slot.decides
            and self.asked.get(self.key(slot), 0) > 0
            and agrees(self.truth(slot))
            and self.offers_in_full(heard, slot)
            for slot in self.slots
        )

    def asks_unknown(self, heard: Heard) -> bool:
        """Return whether the agent asks for data that the user does not have."""
        return any(
            Intent.ASKS in intents
            and (_ASKS_DATUM.search(sentence.text) or any(occurs(one, sentence.text) for one in _UNKNOWN_DATA))
            for sentence, intents in heard.sentences
        )

    def _named(self, sentence: Sentence) -> list[Slot]:
        """Return the slots whose words stand in a sentence; a longer phrase hides the shorter ones in it."""
        text = sentence.text
        found: list[Slot] = []
        for words, slots in self._phrases:
            if occurs(words, text):
                found += slots
                text = text.replace(words, "\x00")
        return found

    @cached_property
    def _phrases(self) -> list[tuple[str, list[Slot]]]:
        """The words for slots and for unknown data, the longest first, with their slots."""
        phrases: dict[str, list[Slot]] = {words: [] for words in _UNKNOWN_DATA}
        for slot in self.slots:
            for words in dict.fromkeys((*slot.asks, *MORE_ASKS.get(slot.name, ()))):
                phrases.setdefault(words, []).append(slot)
        return sorted(phrases.items(), key=lambda pair: -len(pair[0]))

    def _is_about_data(self, sentence: Sentence) -> bool:
        """Return whether a sentence is about what the user has said, and neither states it nor is about their phone."""
        devices = (word for hand in self.script.hands for word in hand.devices)
        return not any(self._states(sentence, slot) for slot in self.slots) and not any(
            occurs(word, sentence.text) for word in devices
        )

    def _states(self, sentence: Sentence, slot: Slot) -> bool:
        """Return whether a sentence states a value of a slot rather than to ask for it."""
        if occurs("or", sentence.text):
            return False
        data = data_in(sentence.text, sentence.written)
        own = own_data(self.truth(slot))
        return bool(data.keys() & own.keys())

    def _known(self) -> dict[str, set[str]]:
        known: dict[str, set[str]] = {}
        for slot in self.slots:
            _merge(known, own_data(self.truth(slot)))
            if slot.after_change:
                _merge(known, {k: v for k, v in own_data(slot.says).items() if not self.changed})
        return known

    def _elsewhere(self) -> dict[str, set[str]]:
        """Return the data of the other wishes."""
        known: dict[str, set[str]] = {}
        for index, wish in enumerate(self.script.wishes):
            if index != self.wish:
                for slot in wish.slots:
                    for text in (slot.says, slot.after_change):
                        _merge(known, own_data(text))
        for slot in self.slots:
            if self.is_mistaken(slot):
                _merge(known, own_data(slot.wrong))
        return known

    def _is_false(
        self,
        slot: Slot,
        stated: dict[str, set[str]],
        mentioned: dict[str, set[str]],
        known: dict[str, set[str]],
        elsewhere: dict[str, set[str]],
    ) -> bool:
        own = own_data(self.truth(slot))
        for kind in own.keys() & stated.keys():
            if kind == "name":
                words = set(" ".join(own[kind]).split())
                if any(not set(name.split()) <= words for name in stated[kind]):
                    return True
            elif not mentioned[kind] & _alike(kind, known) and stated[kind] - elsewhere.get(kind, set()):
                return True
        return False


def _denies_choice(slot: Slot, truth: str, claims: Iterable[str]) -> bool:
    if not slot.choices:
        return False
    own = own_choices(slot.choices, truth)
    stated = {choice for text in claims for choice in stated_choices(slot.choices, text)}
    return bool(stated - own) and not (own and own <= stated)


def _lists(sentence: Sentence, intents: frozenset[Intent]) -> bool:
    return Intent.OFFERS_LIST in intents or (sentence.is_item and _LIST_LEAD.search(sentence.lead) is not None)


_LIST_LEAD = re.compile(
    r"\b(?:options?|available|choose|in stock|which|following (?:flights|orders|bookings|items|reservations|"
    r"variants)|you have|"
    r"orders|bookings|reservations|variants|flights)\b"
)


def _is_code(slot: Slot) -> bool:
    return any(kind.startswith("code") for kind in own_data(slot.says))


def _can_be_checked(slot: Slot) -> bool:
    return bool(own_data(slot.says) or own_choices(slot.choices, slot.says))


def _alike(kind: str, known: dict[str, set[str]]) -> set[str]:
    """Return the values of a kind, for a zip code also those of addresses."""
    return known[kind] | (known.get("street zip", set()) if kind == "zip" else set())


def _merge(into: dict[str, set[str]], data: Mapping[str, Set[str]]) -> None:
    for kind, values in data.items():
        into.setdefault(kind, set()).update(values)
