"""Forms as an environment: :class:`FormEnv`."""

from __future__ import annotations

import random

from gem.arguments import boolean, integer
from gem.text_env import MAX_TURNS
from gem_envs_web.form.site import FormSite
from gem_envs_web.form.tasks import FormLevel, FormTask, form_task
from gem_envs_web.sites.actions import PageActionForm
from gem_envs_web.sites.site_env import SiteEnv

__all__ = ["FormEnv"]

_MOST_PAGES, _MOST_FIELDS, _MOST_MISLEADING = 6, 20, 12


class FormEnv(SiteEnv):
    """Fill in a form for the person who wrote a letter; 1.0 if the sent form says exactly what the letter wants.

    Args:
        pages: pages of the form, 1 to 6; with two or more, a review ends it.
        fields: at least so many fields, 3 to 20; a field brings those that it depends on.
        misleading: fields for which the letter also says a wrong value, 0 to 12.
        derived: fields that must be computed from others, 0 to 2.
        prefilled: fields in which something wrong stands at the beginning, 0 to 6.
        paraphrased: whether the letter says options in other words than the form.
        hidden_formats: whether the form says formats only after a mistake.
        split: ``"train"`` or ``"test"``; no letter is in both.
        max_turns: turns that the instructions announce.
    """

    form = PageActionForm("click", "type", "select")
    site: FormSite

    def __init__(
        self,
        pages: int = 2,
        fields: int = 9,
        misleading: int = 2,
        derived: int = 1,
        prefilled: int = 1,
        paraphrased: bool = True,
        hidden_formats: bool = False,
        split: str = "train",
        max_turns: int = 25,
    ) -> None:
        super().__init__(split, integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS))
        self.level = FormLevel(
            integer("pages", pages, minimum=1, maximum=_MOST_PAGES),
            integer("fields", fields, minimum=max(3, pages), maximum=_MOST_FIELDS),
            integer("misleading", misleading, minimum=0, maximum=_MOST_MISLEADING),
            integer("derived", derived, minimum=0, maximum=2),
            integer("prefilled", prefilled, minimum=0, maximum=6),
            boolean("paraphrased", paraphrased),
            boolean("hidden_formats", hidden_formats),
        )

    @property
    def task(self) -> FormTask:
        """The letter and the form of the episode; a reference to compare with, which no agent sees."""
        return self.site.task

    def _site_of(self, number: int) -> FormSite:
        return FormSite(form_task(random.Random(f"form {self.split} {number}"), self.level, self.split))

    def _words(self) -> list[str]:
        return self.task.brief.split()

    def brief(self) -> str:
        several = len(self.task.pages) > 1
        pages = "The form has several pages, and you can go back and change them until you send it. " if several else ""
        return (
            "Fill in a form on a website for the person who wrote the letter below, and send it. Every field must say "
            "what the letter wants: people correct themselves, mention values that are not meant, and a field may hold "
            f"something wrong from the start. {pages}A question may appear only when the page with the answer that it "
            f"depends on is sent.\n\nThe letter:\n{self.task.brief}"
        )
