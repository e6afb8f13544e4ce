"""The trainer's model and runs: tokens a second, and the share of the environments.

Run with gem-rl[train] and gem-envs-games installed::

    nice python benchmarks/training_speed.py tokens [REPEATS]
    nice python benchmarks/training_speed.py shares [RECIPE] [UPDATES]

``tokens``: tokens for each second of CPU, on one thread, in float32; each figure is the median of REPEATS (5) with
the smallest and the largest. *decode*: 32 tokens sampled for each of B rows that have 64 tokens in the cache.
*prefill*: 128 rows of 64 tokens, written into an empty cache. *learn*: forward, backward and a step of AdamW for 32
rows of 128 tokens, with the loss on every token.

``shares``: CPU seconds of a run's parts. *environments* is the CPU of their constructors, resets and steps alone, read
from the thread's clock around each call; time in which an episode waits for others is not among it.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import torch

from gem.text_env import TextEnv
from gem_rl import CollapseMonitor
from gem_rl.training.agents import sample_tokens
from gem_rl.training.losses import text_loss
from gem_rl.training.recipe import recipes
from gem_rl.training.trainer import Trainer
from gem_rl.training.transformer import KeyValueCache, ModelSize, TinyTransformer

SIZES = [(48, 2), (64, 2), (128, 3), (192, 4), (256, 4)]  # width and layers
BATCHES = [1, 64, 128, 256]
VOCABULARY, PROMPT, SAMPLED = 512, 64, 32
LEAST_SECONDS = 0.3  # of CPU for a figure


def tokens_per_second(work: Callable[[], int], repeats: int) -> tuple[float, float, float]:
    """Return the median, the smallest and the largest number of tokens for a second of CPU."""
    work()
    found = []
    for _ in range(repeats):
        tokens, began = 0, time.process_time()
        while (spent := time.process_time() - began) < LEAST_SECONDS:
            tokens += work()
        found.append(tokens / spent)
    return statistics.median(found), min(found), max(found)


@torch.inference_mode()
def decode(model: TinyTransformer, rows: int) -> int:
    """Sample tokens for rows whose prompts are in the cache; return how many."""
    cache, generator = KeyValueCache(model.size, rows, PROMPT + SAMPLED), torch.Generator()
    token = torch.zeros(rows, dtype=torch.long)
    for place in range(PROMPT, PROMPT + SAMPLED):
        hidden = model.extend(token[:, None], torch.full((rows, 1), place), cache)[:, 0]
        token, _ = sample_tokens(model.logits(hidden), 1.0, generator)
    return rows * SAMPLED


@torch.inference_mode()
def prefill(model: TinyTransformer) -> int:
    """Read prompts into an empty cache; return how many tokens."""
    rows = 128
    cache = KeyValueCache(model.size, rows, PROMPT)
    model.extend(torch.zeros(rows, PROMPT, dtype=torch.long), torch.arange(PROMPT).expand(rows, -1), cache)
    return rows * PROMPT


def learner(model: TinyTransformer) -> Callable[[], int]:
    """Return a function that learns from a batch and returns how many tokens it has."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = torch.randint(1, VOCABULARY, (32, 129)).tolist()

    def learn() -> int:
        optimizer.zero_grad(set_to_none=True)
        for start in (0, 16):  # 2,048 tokens at a time, as the trainer does
            text_loss(model, rows[start : start + 16]).backward()
        optimizer.step()
        return 32 * 128

    return learn


def tokens(repeats: int) -> None:
    """Print the table of speeds."""
    columns = [*(f"decode B={rows}" for rows in BATCHES), "prefill", "learn"]
    print("| model | parameters |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 2) + "|")
    for width, layers in SIZES:
        torch.manual_seed(0)
        model = TinyTransformer(ModelSize(VOCABULARY, width, layers))
        works = [*(partial(decode, model, rows) for rows in BATCHES), partial(prefill, model), learner(model)]
        cells = []
        for work in works:
            middle, least, most = (f"{value / 1000:.3g}" for value in tokens_per_second(work, repeats))
            cells.append(f"{middle}k ({least}–{most})")
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(f"| {width}×{layers} | {parameters / 1e6:.2f} M |", " | ".join(cells), "|", flush=True)


def shares(name: str, updates: int) -> None:
    """Print where the CPU time of a run goes."""
    spent = 0.0

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            nonlocal spent
            began = time.thread_time()
            try:
                return method(*args, **kwargs)
            finally:
                spent += time.thread_time() - began

        return wrapped

    for method in ("reset", "step"):
        setattr(TextEnv, method, timed(getattr(TextEnv, method)))
    recipe = recipes()[name]
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(recipe, 0, Path(folder))
        print(f"{name}: warm start {trainer.warm_seconds:.1f} s of CPU, environments {spent:.3f} s")
        before, began, monitor = spent, time.process_time(), CollapseMonitor()
        figures = [trainer.step(monitor)[0] for _ in range(updates)]
        whole = time.process_time() - began
    parts = {part: sum(line[f"{part}_cpu_seconds"] for line in figures) for part in ("rollout", "update")}
    print(f"{updates} updates: {whole:.1f} s of CPU; of them", ", ".join(f"{k} {v:.1f}" for k, v in parts.items()))
    print(f"environments {spent - before:.3f} s: {(spent - before) / whole:.2%} of the updates")


def main() -> None:
    """Measure what the first argument names."""
    torch.set_num_threads(1)
    what, *rest = sys.argv[1:] or ["tokens"]
    if what == "tokens":
        tokens(int(rest[0]) if rest else 5)
    else:
        shares(rest[0] if rest else "guess-the-number", int(rest[1]) if len(rest) > 1 else 10)


if __name__ == "__main__":
    main()
