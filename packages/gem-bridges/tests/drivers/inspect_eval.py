"""Plays scripted episodes with Inspect's evaluation and its mock model. Argument: the file of episodes."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from gem_bridges.inspect_ai.outward import gem_env

episodes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
answers = {episode["texts"][0]: episode["actions"] for episode in episodes}


def answer(messages: list, tools: list, choice: object, config: object) -> ModelOutput:
    """Return the next answer of the episode."""
    said = answers[messages[0].text][sum(message.role == "assistant" for message in messages)]
    output = ModelOutput.from_content("mockllm", said)
    # With it, the model needs no tokenizer, which it would download.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


found = {}
for env_id in dict.fromkeys(episode["id"] for episode in episodes):
    count = sum(episode["id"] == env_id for episode in episodes)
    with TemporaryDirectory() as folder:
        model = get_model("mockllm/model", custom_outputs=answer)
        (log,) = evaluate(gem_env(env_id, episodes=count), model=model, log_dir=folder, display="none")
        for sample in log.samples or []:
            shown = [message.text for message in sample.messages if message.role == "user"]
            found[env_id, sample.id] = {"shown": shown, "total": sample.scores["gem_return"].value}
print(json.dumps([found[episode["id"], episode["seed"]] for episode in episodes]))
