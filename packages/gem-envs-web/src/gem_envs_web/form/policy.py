"""The reference policy of the forms: :class:`FormPolicy`."""

from __future__ import annotations

from gem.core import Info
from gem.policies import Policy
from gem_envs_web.form.env import FormEnv

__all__ = ["FormPolicy"]


class FormPolicy(Policy[str, str]):
    """Fills in what the letter wants, which it reads from the environment, field by field as the pages show them.

    Args:
        env: the environment that it plays.
        first: whether it takes the value that the letter mentions first, and no notice of what a field already holds;
            such an agent can read values and formats, and nothing else.
    """

    def __init__(self, env: FormEnv, first: bool = False) -> None:
        self._env = env
        self._first = first

    def act(self, observation: str, info: Info) -> str:
        page, fields = self._env.page, self._env.task.fields()
        for name, field in page.fields().items():
            wanted = fields[name].first if self._first else fields[name].wanted
            held = self._env.typed[name]
            if held == wanted or (self._first and held and not field.error):
                continue
            if field.kind == "checkbox":
                return f"click[{field.label}]"
            return f"{'select' if field.options else 'type'}[{field.label}][{wanted}]"
        buttons = page.clickable()
        return f"click[{'Next' if 'next' in buttons else 'Send'}]"
