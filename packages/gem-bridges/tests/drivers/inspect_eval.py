"""Plays scripted episodes with Inspect's evaluation and its mock model. Argument: the file of episodes."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from gem_bridges.inspect_ai.outward import gem_env

episodes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
found = []
for episode in episodes:

    def answer(
        messages: list, tools: list, choice: object, config: object, said: list = episode["actions"]
    ) -> ModelOutput:
        """Return the next answer of the episode."""
        output = ModelOutput.from_content("mockllm", said[sum(message.role == "assistant" for message in messages)])
        # With it, the model needs no tokenizer, which it would download.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    with TemporaryDirectory() as folder:
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        task = gem_env(episode["id"], episodes=1, first_seed=episode["seed"])
        (log,) = evaluate(task, model=model, log_dir=folder, display="none")
        (sample,) = log.samples or []  # read from the folder
        shown = [message.text for message in sample.messages if message.role == "user"]
        found.append({"shown": shown, "total": sample.scores["gem_return"].value})
print(json.dumps(found))
