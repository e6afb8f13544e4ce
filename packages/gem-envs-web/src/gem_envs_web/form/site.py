"""The pages of a form: :class:`FormSite`, with validation, questions that depend on others, and a review."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gem.errors import ArgumentError
from gem_envs_web.form.tasks import FormTask, WantedField
from gem_envs_web.form.values import parsed_date
from gem_envs_web.sites.page import PageButton, PageField, PageLink, PageRow, SitePage, page_row
from gem_envs_web.sites.site import Site

__all__ = ["FormSite"]

_REVIEW, _SENT = "review", "sent"
_REQUIRED = "Please fill this in."


class FormSite(Site):
    """A form over one or several pages, addresses ``page-1`` and so on, then ``review`` and ``sent``.

    "Next" keeps the values of a page if all are valid. Otherwise the page comes again with its errors. A question that
    depends on another appears when the answer on which it depends is sent. A form of one page has no review.

    Args:
        task: the form and the record that is wanted.
    """

    start = "page-1"

    def __init__(self, task: FormTask) -> None:
        super().__init__()
        self.task = task
        self._fields = task.fields()
        self._kept: dict[str, str] = {}
        self._refused: tuple[str, dict[str, str], dict[str, str]] = "", {}, {}
        """The address of a page that came again, with its values and errors."""
        self._sent: dict[str, str] | None = None

    def record(self) -> dict[str, str]:
        """Return the values of the fields that are asked for, as far as they are kept."""
        return {name: self._kept[name] for name in self.task.asked(self._kept) if name in self._kept}

    def result(self) -> float | None:
        if self._sent is None:
            return None
        wanted = self.task.wanted()
        return float(
            self._sent.keys() == wanted.keys() and all(_same(self._sent[name], wanted[name]) for name in wanted)
        )

    def page(self, address: str) -> SitePage:
        if self._sent is not None:
            return SitePage(self.task.title, [page_row("Thank you. Your form has been sent.")])
        if address == _REVIEW and len(self.task.pages) > 1:
            self._check_reached(len(self.task.pages))
            return self._review()
        found = re.fullmatch(r"page-(\d{1,2})", address)
        number = int(found[1]) if found else 0
        if not 1 <= number <= len(self.task.pages):
            raise ArgumentError(f"the form has no page {address!r:.80}")
        self._check_reached(number - 1)
        return self._step(number)

    def _check_reached(self, pages: int) -> None:
        for number in range(1, pages + 1):
            if self._errors(number, self._kept):
                raise ArgumentError(f"page {number} of the form is not complete")

    def _step(self, number: int) -> SitePage:
        pages = len(self.task.pages)
        came_again, typed, errors = self._refused
        if came_again != f"page-{number}":
            typed, errors = {}, {}
        rows: list[PageRow] = []
        if errors:
            rows.append(page_row("! The page could not be accepted. Please look at the fields with errors."))
        for field in self._asked_on(number, {**self._kept, **typed}):
            value = typed.get(field.name, self._kept.get(field.name, field.default))
            rows.append(page_row(self._shown(field, value, errors.get(field.name, ""))))
        if number > 1:
            rows.append(page_row(PageLink("Back", f"page-{number - 1}")))
        rows.append(page_row(PageButton("Send" if pages == 1 else "Next", "next")))
        title = self.task.title if pages == 1 else f"{self.task.title}, page {number} of {pages}"
        return SitePage(title, rows)

    def _shown(self, field: WantedField, value: str, error: str) -> PageField:
        note = "" if self.task.hidden_formats else field.form.note
        required = field.kind != "checkbox"
        return PageField(field.name, field.label, field.kind, value, field.options, note, error, required)

    def _review(self) -> SitePage:
        rows = [page_row("Please check everything before you send the form.")]
        for number in range(1, len(self.task.pages) + 1):
            rows.append(page_row(f"Page {number}", kind="heading"))
            for field in self._asked_on(number, self._kept):
                value = self._kept.get(field.name, "")
                shown = ("yes" if value else "no") if field.kind == "checkbox" else value
                rows.append(page_row(f"{field.label}: {shown}"))
            rows.append(page_row(PageLink(f"Change page {number}", f"page-{number}")))
        rows.append(page_row(PageButton("Send", "send")))
        return SitePage(f"{self.task.title}, review", rows)

    def _carry_out(self, address: str, command: str, values: dict[str, str]) -> str:
        self._refused = "", {}, {}
        if command == "send":
            return self._send()
        number = int(address.removeprefix("page-"))
        values = {name: " ".join(value.split()) for name, value in values.items()}
        if errors := self._errors(number, {**self._kept, **values}, new=values):
            self._refused = address, values, errors
            return address
        self._kept.update(values)
        if number < len(self.task.pages):
            return f"page-{number + 1}"
        return _REVIEW if number > 1 else self._send()

    def _send(self) -> str:
        self._sent = self.record()
        return _SENT

    def _asked_on(self, number: int, values: Mapping[str, str]) -> list[WantedField]:
        asked = self.task.asked(values)
        return [field for field in self.task.pages[number - 1] if field.name in asked]

    def _errors(self, number: int, values: Mapping[str, str], new: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return what is wrong with the values of a page, by fields.

        Args:
            number: the page.
            values: values of all pages.
            new: the values that were sent, in which a question may be missing because it was not shown.
        """
        found = {}
        for field in self._asked_on(number, values):
            if new is not None and field.name not in new:
                found[field.name] = "This question follows from your answers. Please fill it in."
            elif message := self._error(field, values):
                found[field.name] = message
        return found

    def _error(self, field: WantedField, values: Mapping[str, str]) -> str:
        if field.kind == "checkbox":
            return "" if field.name in values else _REQUIRED
        value = values.get(field.name, "")
        if not value:
            return _REQUIRED
        if field.kind == "select":
            return ""
        if not field.form.fits(value):
            return f"Wanted: {field.form.note}." if field.form.note else "This cannot be right."
        if field.later_than:
            before = self._fields[field.later_than]
            one, other = (
                parsed_date(before.form, values.get(before.name, "")),
                parsed_date(field.form, value),
            )
            if one is not None and other is not None and other <= one:
                return f'This must be later than "{before.label}".'
        return ""


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
