"""Plays rows with one of NeMo Gym's own agents, whose model says what a script says.

Arguments: the port of the resources server, three free ports, ``module:Class`` of the agent, and the file of episodes:
a list of objects with the ``row`` and the ``answers``, each a list of output items.
"""

import json
import os
import sys
import threading
import urllib.request
from importlib import import_module
from pathlib import Path
from time import sleep

import uvicorn
from fastapi import FastAPI
from nemo_gym.global_config import NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME
from nemo_gym.server_utils import BaseServerConfig, ServerClient
from omegaconf import OmegaConf

resources, agent, model = (int(port) for port in sys.argv[1:4])
module, _, name = sys.argv[4].partition(":")
episodes = json.loads(Path(sys.argv[5]).read_text(encoding="utf-8"))
said = []

endpoint = FastAPI()


@endpoint.post("/v1/responses")
def respond(body: dict) -> dict:
    """Return the next answer of the script."""
    head = {"id": "resp_1", "object": "response", "created_at": 0.0, "model": "script"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools") or []}
    return {**head, **rest, "output": said.pop(0)}


def server(port: int) -> dict:
    """Return the configuration of a server."""
    return {"host": "127.0.0.1", "port": port, "entrypoint": "app.py"}


known = {
    "resources": {"resources_servers": {"resources": server(resources)}},
    "script": {"responses_api_models": {"script": server(model)}},
    "agent": {"responses_api_agents": {"agent": server(agent)}},
}
os.environ[NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME] = OmegaConf.to_yaml(OmegaConf.create(known))
client = ServerClient(
    head_server_config=BaseServerConfig(host="127.0.0.1", port=1), global_config_dict=OmegaConf.create(known)
)
agent_class = getattr(import_module(module), name)
config_class = agent_class.model_fields["config"].annotation
config = config_class(
    **server(agent),
    name="agent",
    resources_server={"type": "resources_servers", "name": "resources"},
    model_server={"type": "responses_api_models", "name": "script"},
    max_steps=20,
)
for app, port in ((agent_class(config=config, server_client=client).setup_webserver(), agent), (endpoint, model)):
    running = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    threading.Thread(target=running.run, daemon=True).start()
    while not running.started:
        sleep(0.05)
found = []
for episode in episodes:
    said[:] = episode["answers"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{agent}/run",
        data=json.dumps(episode["row"]).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        result = json.load(answer)
    outputs = [item["output"] for item in result["response"]["output"] if item["type"] == "function_call_output"]
    told = [item["content"] for item in result["response"]["output"] if item.get("role") == "user"]
    found.append(
        {"reward": result["reward"], "outputs": outputs, "told": told, "asked": len(episode["answers"]) - len(said)}
    )
print(json.dumps(found), flush=True)
os._exit(0)  # the library's connections belong to the loop of the agent's thread
