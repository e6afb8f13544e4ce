"""Chat templates from files: :func:`read_tokenizer`.

A template is rendered with jinja2 and nothing else, in the environment that Hugging Face ``transformers`` documents: a
sandbox, blocks trimmed, loop controls, ``{% generation %}``, ``tojson`` without escapes, ``raise_exception`` and
``strftime_now`` (https://huggingface.co/docs/transformers/chat_templating_writing).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from gem.errors import ArgumentError
from gem_rollout.history.chat_template import ChatTokenizer

__all__ = ["ChatTemplateFile", "read_tokenizer"]

_CONFIG = "tokenizer_config.json"
_TEMPLATE = "chat_template.jinja"
_LARGEST = 16 * 2**20
"""Bytes of the largest file that is read; tokenizer_config.json of large vocabularies has some 2 MB."""


_USUAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
"""For a template that stands alone; the prompts grow or not whatever the tokens are called."""


class ChatTemplateFile:
    """A chat template with the special tokens that it prints: as much of a tokenizer as prompts need.

    Args:
        chat_template: the source, in Jinja.
        special_tokens: name → token, for example ``bos_token``.

    Raises:
        ArgumentError: if the source is no Jinja template, or jinja2 is not installed.
    """

    def __init__(self, chat_template: str, special_tokens: Mapping[str, str] | None = None) -> None:
        self.chat_template = chat_template
        self.special_tokens = dict(special_tokens or {})
        environment = _environment()
        try:
            self._template = environment.from_string(chat_template)
        except Exception as error:  # also RecursionError, of a hostile template
            raise ArgumentError(f"the chat template cannot be parsed: {type(error).__name__}: {error}") from error

    def apply_chat_template(
        self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool, **arguments: Any
    ) -> str:
        """Return the messages as text; whatever the template raises is passed on.

        Raises:
            ArgumentError: if tokens are asked for.
        """
        if tokenize:
            raise ArgumentError("a template without its vocabulary renders text; pass tokenize=False")
        values = {"tools": None, "documents": None, **self.special_tokens, **arguments}
        text: str = self._template.render(messages=conversation, add_generation_prompt=add_generation_prompt, **values)
        return text


def read_tokenizer(source: str) -> ChatTokenizer:
    """Return the tokenizer behind a path: a folder of a model, a ``tokenizer_config.json``, or a ``.jinja`` file.

    Any other text is the name of a model, which ``transformers`` loads if it is installed, from this machine alone.

    Raises:
        ArgumentError: if nothing is there, or it has no chat template.
    """
    path = Path(source)
    if path.is_dir():
        return _from_folder(path)
    if path.is_file():
        return _from_config(path) if path.suffix == ".json" else _from_template(path)
    if path.suffix in (".json", ".jinja", ".j2") or not path.name or source.startswith((".", "/", "~")):
        raise ArgumentError(f"there is no file or folder {source!r}")
    return _by_name(source)


def _from_folder(folder: Path) -> ChatTemplateFile:
    if (folder / _TEMPLATE).is_file():
        return _from_template(folder / _TEMPLATE)
    for name in ("chat_template.json", _CONFIG):
        if (folder / name).is_file() and "chat_template" in _json(folder / name):
            return _from_config(folder / name)
    raise ArgumentError(f"the folder {folder} holds no chat template: neither {_TEMPLATE}, nor one in {_CONFIG}")


def _from_template(path: Path) -> ChatTemplateFile:
    config = path.with_name(_CONFIG)
    return ChatTemplateFile(_text(path), _special_tokens(_json(config)) if config.is_file() else _USUAL_TOKENS)


def _from_config(path: Path) -> ChatTemplateFile:
    config = _json(path)
    template = config.get("chat_template")
    if isinstance(template, list):  # several by name, as transformers stored them
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, Mapping)}
        template = named.get("default")
    if template is None and path.with_name(_TEMPLATE).is_file():
        template = _text(path.with_name(_TEMPLATE))
    if not isinstance(template, str):
        raise ArgumentError(f"{path} has no chat_template; pass the file {_TEMPLATE} of the model")
    beside = path.with_name(_CONFIG)
    return ChatTemplateFile(template, _special_tokens(_json(beside) if beside.is_file() else config))


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the special tokens of a configuration, in which each is a str or a dict with ``content``."""
    tokens = {}
    for name, value in config.items():
        text = value.get("content") if isinstance(value, Mapping) else value
        if name.endswith("_token") and isinstance(text, str):
            tokens[name] = text
    return tokens


def _by_name(name: str) -> ChatTokenizer:
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise ArgumentError(
            f"there is no file or folder {name!r}; to load a model's tokenizer by name, run: pip install transformers"
        ) from None
    try:
        tokenizer: ChatTokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ArgumentError(
            f"there is no file or folder {name!r}, and transformers has no such model on this machine: {reason}"
        ) from error
    return tokenizer


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise ArgumentError(f"{path} has over {_LARGEST} bytes, which no chat template needs")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{path} is not text in UTF-8: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ArgumentError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ArgumentError(f"{path} must hold a JSON object, as {_CONFIG} does")
    return value


@lru_cache(maxsize=1)
def _environment() -> Any:
    try:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise ArgumentError("chat templates need jinja2; run: pip install 'gem-rollout[chat]'") from None

    from gem_rollout.history.template_locality import generation_tag

    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    def tojson(value: Any, **options: Any) -> str:
        return json.dumps(value, **{"ensure_ascii": False, **options})

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", generation_tag()]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment
