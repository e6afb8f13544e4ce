"""The trainer's model: tokens a second of sampling, of reading prompts, and of forward and backward passes.

Run with gem-rl[train] installed::

    nice python benchmarks/training_speed.py [REPEATS]

Tokens for each second of CPU, on one thread, in float32; each figure is the median of REPEATS (5 by default) with the
smallest and the largest. ``decode``: 32 tokens sampled for each of B rows that have 64 tokens in the cache. ``prefill``:
128 rows of 64 tokens, written into an empty cache. ``learn``: forward, backward and a step of AdamW for 32 rows of 128
tokens, with the loss on every token.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import torch

from gem_rl.training.losses import text_loss
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
    cache = KeyValueCache(model.size, rows, PROMPT + SAMPLED).rows(torch.arange(rows), PROMPT + SAMPLED)
    token = torch.zeros(rows, dtype=torch.long)
    for place in range(PROMPT, PROMPT + SAMPLED):
        hidden = model.extend(token[:, None], torch.full((rows, 1), place), cache)[:, 0]
        token = torch.multinomial(model.logits(hidden).softmax(-1), 1).squeeze(1)
    return rows * SAMPLED


@torch.inference_mode()
def prefill(model: TinyTransformer) -> int:
    """Read prompts into an empty cache; return how many tokens."""
    rows = 128
    cache = KeyValueCache(model.size, rows, PROMPT).rows(torch.arange(rows), PROMPT)
    model.extend(torch.zeros(rows, PROMPT, dtype=torch.long), torch.arange(PROMPT).expand(rows, -1), cache)
    return rows * PROMPT


def learner(model: TinyTransformer) -> Callable[[], int]:
    """Return a function that learns from a batch and returns how many tokens it has."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    rows = torch.randint(1, VOCABULARY, (32, 129)).tolist()

    def learn() -> int:
        optimizer.zero_grad(set_to_none=True)
        text_loss(model, rows, 0).backward()
        optimizer.step()
        return 32 * 128

    return learn


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.set_num_threads(1)
    columns = [*(f"decode B={rows}" for rows in BATCHES), "prefill", "learn"]
    print("| model | parameters |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 2) + "|")
    for width, layers in SIZES:
        torch.manual_seed(0)
        model = TinyTransformer(ModelSize(VOCABULARY, width, layers))
        works = [*(lambda rows=rows: decode(model, rows) for rows in BATCHES), lambda: prefill(model), learner(model)]
        cells = []
        for work in works:
            middle, least, most = (f"{value / 1000:.3g}" for value in tokens_per_second(work, repeats))
            cells.append(f"{middle}k ({least}–{most})")
        parameters = sum(parameter.numel() for parameter in model.parameters())
        print(f"| {width}×{layers} | {parameters / 1e6:.2f} M |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
