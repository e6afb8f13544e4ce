"""Data sets of the library by name: the catalogue, their configuration, and their items."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from gem.arguments import check_names, integer, nearest, real, seed_value, string
from gem.errors import ArgumentError, ArgumentTypeError, DatasetError
from gem_envs_reasoning import corrections
from gem_envs_reasoning.library import load

__all__ = [
    "COMPOSITE",
    "Composite",
    "DataSet",
    "Part",
    "catalogue",
    "check_config",
    "check_name",
    "highest_level",
    "load_data_set",
    "parts_of",
]

COMPOSITE = "composite"
_LARGEST_SEED = 1 << 31
_MOST_PARTS = 200
_MOST_VALUES = 10_000
_LARGEST_BY_DEFAULT = 1_000
_TIMES_THE_DEFAULT = 100


class CatalogueEntry(TypedDict):
    """A data set in ``catalogue.json``."""

    module: str
    config: list[str]
    levels: dict[str, int]


@lru_cache(maxsize=1)
def catalogue() -> dict[str, CatalogueEntry]:
    """Return every data set's module, the names of its configuration, and the number of levels of each attribute of
    its curriculum. ``tools/write_manifest.py`` writes the file from the library.
    """
    text = Path(__file__).with_name("catalogue.json").read_text("utf-8")
    entries: dict[str, CatalogueEntry] = json.loads(text)
    return entries


def check_name(name: object) -> str:
    """Return the name of a data set; ArgumentError with the nearest one if it does not exist."""
    checked = string("name", name)
    if checked not in catalogue() and checked != COMPOSITE:
        near = nearest(checked, catalogue())
        hint = f"did you mean {near!r}?" if near else "see `gem list rg`"
        raise ArgumentError(f"reasoning-gym has no data set {checked[:80]!r}; {hint}")
    return checked


def check_config(name: str, config: Mapping[str, Any]) -> None:
    """Refuse keys that the data set's configuration does not have, with the nearest one."""
    check_names(f"rg:{name}", config, [*catalogue()[name]["config"], "size", "seed"])


def highest_level(name: str) -> int | None:
    """Return the highest level of the data set's curriculum, from 0; None if it has no curriculum."""
    levels = catalogue()[name]["levels"]
    return max(levels.values()) - 1 if levels else None


class Part(NamedTuple):
    """One data set of a composite."""

    name: str
    weight: float
    config: dict[str, Any]


def parts_of(datasets: object) -> list[Part]:
    """Read the argument ``datasets`` of a composite.

    Raises:
        ArgumentError, ArgumentTypeError: if it is not a list of data sets with weights and configurations.
    """
    if isinstance(datasets, (str, bytes, Mapping)) or not isinstance(datasets, Sequence):
        raise ArgumentTypeError(
            f"datasets must be a list of {{name, weight, config}}, got an object of type {type(datasets).__name__}"
        )
    integer("the length of datasets", len(datasets), minimum=1, maximum=_MOST_PARTS)
    parts = []
    for given in datasets:
        if isinstance(given, str):
            given = {"name": given}
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise ArgumentTypeError(
                f"each of datasets must be a dict or a name, got an object of type {type(given).__name__}"
            )
        check_names("a part of rg:composite", given, ("name", "weight", "config"))
        name = check_name(given.get("name"))
        if name == COMPOSITE:
            raise ArgumentError("rg:composite cannot be a part of itself")
        config = given.get("config", {})
        if not isinstance(config, Mapping):
            raise ArgumentTypeError(f"config must be a dict, got an object of type {type(config).__name__}")
        check_config(name, config)
        parts.append(Part(name, real("weight", given.get("weight", 1.0), minimum=1e-9, maximum=1e9), dict(config)))
    if len({part.name for part in parts}) < len(parts):
        raise ArgumentError("datasets names a data set twice; give it once, with a larger weight")
    return parts


def _check_sizes(config: Mapping[str, Any], config_class: Any) -> None:
    """Reject values that make the library compute for hours, or fill the memory, before it reports an error."""
    for field in dataclasses.fields(config_class):
        if field.name not in config:
            continue
        default = field.default
        number = abs(default) if isinstance(default, (int, float)) else 0
        largest = max(_LARGEST_BY_DEFAULT, _TIMES_THE_DEFAULT * number)
        pending, seen = [config[field.name]], 0
        while pending:
            value = pending.pop()
            seen += len(value) if isinstance(value, str) else 1
            if isinstance(value, Mapping):
                pending += [*value.keys(), *value.values()]
            elif isinstance(value, (list, tuple, set, frozenset)):
                pending += value
            elif isinstance(value, (int, float)) and not abs(value) <= largest:
                raise ArgumentError(f"{field.name} must stay between -{largest:g} and {largest:g}, got {value!r:.80}")
            if seen > _MOST_VALUES or len(pending) > _MOST_VALUES:
                raise ArgumentError(f"{field.name!r} holds more than {_MOST_VALUES} values or characters")


def load_data_set(name: str) -> None:
    """Load the library's modules of a data set.

    Raises:
        DatasetError: if a library that the data set needs is not installed.
    """
    try:
        load(catalogue()[name]["module"])
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"rg:{name} needs {error.name}, which is not installed; run: pip install {error.name} "
            "(a library without a wheel for this machine needs a C compiler)"
        ) from error


class DataSet:
    """One data set of the library, with any number of items: items after the first ``size`` come from new data sets.

    Args:
        name: a name in :func:`catalogue`.
        config: values of its configuration, without size and seed.
        seed: seed of the first data set, from 0; the next has ``seed + size``.
        size: number of items of each.
        level: level of the library's curriculum; or a level for each attribute. Values in ``config`` win.

    Raises:
        ArgumentError: if the library refuses the configuration.
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, Any],
        *,
        seed: int,
        size: int,
        level: int | Mapping[str, int] | None = None,
    ) -> None:
        self.name = name
        self.size = size
        self._seed = seed_value(seed) % _LARGEST_SEED
        self._config = dict(config)
        self._level = level
        self._epoch = -1
        self._dataset: Any = None
        self.library_data_set(0)

    def library_data_set(self, epoch: int = 0) -> Any:
        """Return the library's own object for one pass over the set."""
        if epoch != self._epoch:
            self._dataset, self._epoch = self._make((self._seed + epoch * self.size) % _LARGEST_SEED), epoch
        return self._dataset

    def settings(self) -> dict[str, Any]:
        """Return arguments that make the first data set in another process; scores depend only on its configuration."""
        return {"config": self._config, "seed": self._seed, "size": self.size, "level": self._level}

    def __getitem__(self, index: int) -> dict[str, Any]:
        epoch, place = divmod(index, self.size)
        try:
            return corrections.item(self.name, self.library_data_set(epoch), place)
        except Exception as error:
            raise DatasetError(
                f"reasoning-gym could not make item {place} of {self.name!r} (seed {self._seed}): "
                f"{type(error).__name__}: {error}; try another configuration"
            ) from error

    def _make(self, seed: int) -> Any:
        load_data_set(self.name)
        factory = load("factory")
        cls, config_class = factory.DATASETS[self.name]
        _check_sizes(self._config, config_class)
        try:
            values = {**self._level_values(factory), **self._config, "seed": seed, "size": self.size}
            config = config_class(**values)
            if hasattr(config, "validate"):
                config.validate()
            return corrections.construct(self.name, cls, config)
        except Exception as error:
            said = str(error) or type(error).__name__
            raise ArgumentError(f"reasoning-gym refuses the configuration of {self.name!r}: {said}") from error

    def _level_values(self, factory: Any) -> dict[str, Any]:
        if self._level is None or self.name not in factory.CURRICULA:
            return {}
        curriculum = factory.CURRICULA[self.name]()
        if isinstance(self._level, Mapping):
            for attribute, level in self._level.items():
                curriculum.set_attr_level(attribute, level)
        else:
            curriculum.set_global_level(self._level)
        made = curriculum.generate_configuration()
        return {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}


class Composite:
    """Items drawn from several data sets by weight, as the library's ``CompositeDataset`` draws them."""

    def __init__(self, parts: Sequence[Part], *, seed: int, size: int, level: int | None = None) -> None:
        self.size = size
        self._seed = seed_value(seed) % _LARGEST_SEED
        self._weights = [part.weight for part in parts]
        self.parts = {}
        for number, (name, _, config) in enumerate(parts, start=1):
            own = dict(config)
            own_seed, own_size = own.pop("seed", self._seed + number), own.pop("size", size)
            # The library passes the composite's index to the part, whose size may be smaller.
            self.parts[name] = DataSet(
                name, own, seed=own_seed, size=max(size, integer("size", own_size, minimum=1)), level=level
            )
        self._names = list(self.parts)

    def part(self, index: int) -> str:
        """Return the data set that an item belongs to."""
        epoch, place = divmod(index, self.size)
        rng = random.Random((self._seed + epoch * self.size) % _LARGEST_SEED + place)
        return rng.choices(self._names, weights=self._weights, k=1)[0]

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.parts[self.part(index)][index]
