"""verl's own importance weights and figures of mismatch beside ours: ``drive_verl_corrections.py EXAMPLES WHEEL``.

Of verl's wheel the one file with the formulas is loaded, with stand-ins for what it imports and does not call.
"""

from __future__ import annotations

import json
import math
import sys
import types
import zipfile
from typing import Any

import numpy as np
import torch

from gem_rl import importance_weights, measure_mismatch

CASES = 50


def masked_sum(values: Any, mask: Any, axis: Any = None) -> Any:
    return torch.where(mask.bool(), values, 0.0).sum(axis=axis)


def masked_mean(values: Any, mask: Any, axis: Any = None) -> Any:
    return masked_sum(values, mask, axis) / (mask.sum(axis=axis) + 1e-8)


def loaded(wheel: str) -> types.ModuleType:
    """Return the module of verl's wheel."""
    stand_ins = {
        "verl": {},
        "verl.utils": {},
        "verl.utils.torch_functional": {"masked_sum": masked_sum, "masked_mean": masked_mean},
        "verl.protocol": {"DataProto": object},
        "verl.trainer": {},
        "verl.trainer.config": {},
        "verl.trainer.config.algorithm": {"RolloutCorrectionConfig": object},
        "verl.workers": {},
        "verl.workers.config": {},
        "verl.workers.config.actor": {"PolicyLossConfig": object},
    }
    for name, members in stand_ins.items():
        module = types.ModuleType(name)
        vars(module).update(members, __path__=[])
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    with zipfile.ZipFile(wheel) as archive:
        source = archive.read("verl/trainer/ppo/rollout_corr_helper.py")
    module = types.ModuleType("rollout_corr_helper")
    exec(compile(source, "rollout_corr_helper.py", "exec"), vars(module))  # the file of the wheel
    return module


def main() -> None:
    theirs = loaded(sys.argv[2])
    rng = np.random.default_rng(0)
    largest, compared = 0.0, 0
    for case in range(CASES):
        lengths = rng.integers(1, 7, size=rng.integers(1, 6))
        mask = torch.zeros(len(lengths), int(lengths.max()), dtype=torch.float64)
        for row, length in enumerate(lengths):
            mask[row, :length] = 1.0
        sampler, learner = (-torch.tensor(rng.exponential(size=mask.shape)) for _ in range(2))
        kept = mask.bool()
        flat = learner[kept].numpy(), sampler[kept].numpy()
        level, masks = ("token", "sequence")[case % 2], case % 4 > 1
        spec: Any = "0.5_2.0" if masks else 2.0
        options: dict[str, Any] = {"lower": 0.5, "outside": "mask"} if masks else {}
        ours = importance_weights(*flat, lengths, level=level, upper=2.0, **options)  # type: ignore[arg-type]
        if not ours.any():  # a batch of which all is masked, on which theirs divides by zero
            continue
        weights, _ = theirs.compute_rollout_correction_weights(learner - sampler, mask, level, spec)
        compared += 1
        largest = max(largest, float(np.abs(weights[kept].numpy() - ours).max()))
        figures = theirs.compute_offpolicy_metrics(learner, sampler, mask)
        found = measure_mismatch(*flat, lengths)
        for name, value in (("kl", found.kl), ("k3_kl", found.kl_k3)):
            largest = max(largest, abs(figures[name] - value))
    print(json.dumps([{"cases": float(compared), "largest": largest if math.isfinite(largest) else 1e9}]))


main()
