"""Serves a resources server that NeMo Gym ships. Arguments: the port, and ``module:Class``."""

import sys
from importlib import import_module

import uvicorn
from nemo_gym.server_utils import BaseServerConfig, ServerClient
from omegaconf import OmegaConf

port, (module, _, name) = int(sys.argv[1]), sys.argv[2].partition(":")
server_class = getattr(import_module(module), name)
config_class = server_class.model_fields["config"].annotation
config = config_class(host="127.0.0.1", port=port, entrypoint="app.py", name="resources")
head = BaseServerConfig(host="127.0.0.1", port=1)  # it asks no other server
client = ServerClient(head_server_config=head, global_config_dict=OmegaConf.create({}))
app = server_class(config=config, server_client=client).setup_webserver()
app.get("/health")(lambda: {"status": "ok"})
uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
