"""The model and the tokenizer that a recipe names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gem.errors import ArgumentError, MissingPluginError
from gem_rl.training.recipe import Recipe
from gem_rl.training.tiny_tokenizer import TinyTokenizer
from gem_rl.training.transformer import ModelSize, TinyTransformer

__all__ = ["new_model", "new_tokenizer", "saved_tokenizer"]


def new_tokenizer(recipe: Recipe, texts: Iterable[str]) -> Any:
    """Return the tokenizer of the recipe's model, or a small one of these texts.

    Raises:
        MissingPluginError: if the recipe names a model and transformers is not installed.
    """
    if recipe.model:
        return _published().HuggingFaceTokenizer(recipe.model)
    return TinyTokenizer.trained_on(texts, letters=recipe.letters)


def saved_tokenizer(recipe: Recipe, text: str) -> Any:
    """Return the tokenizer that a checkpoint has as a text."""
    return _published().HuggingFaceTokenizer(recipe.model) if recipe.model else TinyTokenizer.from_json(text)


def new_model(recipe: Recipe, tokenizer: Any) -> Any:
    """Return the model for a tokenizer: with the weights it was published with, or new ones."""
    if recipe.model:
        return _published().HuggingFaceModel(recipe.model, recipe.context, precision=recipe.precision, lora=recipe.lora)
    if recipe.lora:
        raise ArgumentError(
            "adapters (lora) need a pretrained model: name its folder with --model, or model in a recipe"
        )
    size = ModelSize(len(tokenizer), recipe.width, recipe.layers, recipe.heads, recipe.context, spoken=tokenizer.spoken)
    return TinyTransformer(size)


def _published() -> Any:
    """Return the module for published models, whose library takes seconds to load."""
    try:
        from gem_rl.training import huggingface
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            f"a recipe with a model needs the library {error.name}; run: pip install 'gem-rl[models]'"
        ) from error
    return huggingface
