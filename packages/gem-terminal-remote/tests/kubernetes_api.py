"""A server that speaks as much of the Kubernetes API as the engine uses; its pods are containers of another engine.

It is strict: bodies are read with the schemas of the official client and have to come out as they went in, names and
labels have the syntax that the API demands, calls need their token, and a network policy counts only where it is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import select
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gem_terminal.engines import Container, Engine
from gem_terminal.engines.base import ContainerSpec
from gem_terminal.errors import EngineError
from gem_terminal.task import ResourceLimits

TOKEN = "a-token"
NODE_CPUS = 8
POD_PIDS = 64
"""What a node grants to each pod, as ``podPidsLimit`` of a kubelet."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SOCKET_KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_UNITS = {"": 1, "m": 0.001, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class Refusal(Exception):
    """An answer that is a failure."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code, "reason": reason,
            "message": message,
        }  # fmt: skip


@dataclass
class Pod:
    """A pod as it is stored, and the containers that it is."""

    stored: dict[str, Any]
    container: Container | None = None
    beside: dict[str, Container] = field(default_factory=dict)
    """Names of further containers, which share the network of the first."""
    sockets: list[Any] = field(default_factory=list)


class Cluster:
    """The state of the cluster, and the server that shows it.

    Args:
        engine: what the pods run on.
        images: the names of images that can be pulled → references of the engine.
        folder: for the kubeconfig, and the certificate where openssl makes one.
        subprotocols: those that exec speaks, the best first.
    """

    def __init__(
        self,
        engine: Engine,
        images: Mapping[str, str],
        folder: Path,
        subprotocols: tuple[str, ...] = ("v5.channel.k8s.io", "v4.channel.k8s.io"),
    ) -> None:
        self.engine = engine
        self.images = dict(images)
        self.subprotocols = subprotocols
        self.pods: dict[str, Pod] = {}
        self.policies: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.failures: list[tuple[str, int]] = []
        """Beginnings of calls, such as ``POST /api``, and the status that each is answered with, once."""
        self.lost: list[str] = []
        """Beginnings of calls that are carried out and whose answer is lost with the connection, once each."""
        self.cut_watches = 0
        """So many watches break off after their first event, and no pod starts before they have."""
        self.full = False
        self.refuses_exec = False
        self.faults: list[str] = []
        """What went wrong in the server itself, and wrong messages on a websocket."""
        self.changed = threading.Condition()
        self.version = 0
        self._server = _Server(("127.0.0.1", 0), _Handler, bind_and_activate=True)
        self._server.cluster = self
        scheme, authority = "http", {}
        if shutil.which("openssl") is not None:
            scheme, authority = "https", {"certificate-authority": str(_certify(self._server, folder))}
        self.port = self._server.server_address[1]
        self.kubeconfig = folder / "kubeconfig.json"  # JSON is YAML
        self.kubeconfig.write_text(json.dumps(_kubeconfig(f"{scheme}://127.0.0.1:{self.port}", authority)))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Go away: refuse connections and cut those that there are."""
        self._server.shutdown()
        self._hang_up()
        self._server.server_close()
        self._thread.join()
        self.cut()
        for name in list(self.pods):
            self.delete(name)

    def _hang_up(self) -> None:
        """End the connections that nobody has accepted yet, which closing the server would reset.

        Before Python 3.13 ``SSLContext.wrap_socket`` leaves its socket open where the connection was reset before the
        handshake, and the garbage collector finds that socket during any later test.
        """
        self._server.socket.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                self._server.socket.accept()[0].close()

    def cut(self) -> None:
        """Break off every connection that there is."""
        for connection in list(self._server.connections):
            with suppress(OSError):
                _break_off(connection)

    def note(self, pod: Pod) -> None:
        """Let watchers see a change."""
        with self.changed:
            self.version += 1
            pod.stored["metadata"]["resourceVersion"] = str(self.version)
            self.changed.notify_all()

    def create(self, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store a pod and begin to start it."""
        _check_pod(body)
        name = body["metadata"]["name"]
        if self.full:
            raise Refusal(403, "Forbidden", f'pods "{name}" is forbidden: exceeded quota: small, limited: pods=0')
        with self.changed:
            if name in self.pods:
                raise Refusal(409, "AlreadyExists", f'pods "{name}" already exists')
            body["metadata"].update(namespace=namespace, uid=hashlib.sha256(name.encode()).hexdigest()[:32])
            pod = self.pods[name] = Pod({**body, "status": {"phase": "Pending"}})
        self.note(pod)
        threading.Thread(target=self._start, args=(pod,), daemon=True).start()
        return pod.stored

    def delete(self, name: str) -> dict[str, Any]:
        """Remove a pod at once, with its container."""
        with self.changed:
            pod = self.pods.pop(name, None)
            self.changed.notify_all()
        if pod is None:
            raise Refusal(404, "NotFound", f'pods "{name}" not found')
        _remove(pod)
        for connection in pod.sockets:
            with suppress(OSError):
                _break_off(connection)
        return pod.stored

    def _start(self, pod: Pod) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.cut_watches, timeout=30)
        containers = pod.stored["spec"]["containers"]
        asked = [container["resources"]["requests"] for container in containers]
        if sum(_number(each["cpu"]) for each in asked) > NODE_CPUS:
            message = "0/1 nodes are available: 1 Insufficient cpu."
            self._condition(pod, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, message)
            return
        self._waiting(pod, "ContainerCreating", "")
        for container in containers:
            if container["image"] not in self.images:
                why = f'failed to pull image "{container["image"]}": not found'
                self._waiting(pod, "ErrImagePull", why)
                self._waiting(pod, "ImagePullBackOff", f"Back-off: {why}")
                return
            assert [_expanded(word) for word in container["command"]][:2] == ["/bin/sh", "-c"]
            assert "wait $!" in _expanded(container["command"][2])
        state: dict[str, Any] = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        try:
            self._start_containers(pod)
        except (EngineError, OSError) as error:
            state = {"terminated": {"exitCode": 128, "reason": "StartError", "message": str(error)}}
        pod.stored["status"] = {
            "phase": "Running" if "running" in state else "Failed",
            "containerStatuses": [_container_status(container, state) for container in containers],
        }
        if pod.stored["metadata"]["name"] not in self.pods:  # deleted meanwhile
            _remove(pod)
        self.note(pod)

    def _start_containers(self, pod: Pod) -> None:
        """Start the first container, and the others in its network, with the names that the pod gives 127.0.0.1."""
        spec = pod.stored["spec"]
        names = [name for alias in spec.get("hostAliases", []) for name in alias["hostnames"]]
        assert all(alias["ip"] == "127.0.0.1" for alias in spec.get("hostAliases", []))
        isolated = any(_selects(policy, pod.stored) for policy in self.policies.values())
        specs = []
        for container in spec["containers"]:
            asked = container["resources"]["requests"]
            limits = ResourceLimits(
                cpus=_number(asked["cpu"]),
                memory=int(_number(asked["memory"])),
                processes=POD_PIDS,
                network=not isolated,
            )
            environment = {entry["name"]: _expanded(entry.get("value", "")) for entry in container.get("env", [])}
            service = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_PORT_443_TCP_PORT": "443"}
            variables = {**environment, **service}
            specs.append(ContainerSpec(self.images[container["image"]], limits, variables, tuple(names)))
        if len(specs) == 1:
            pod.container = self.engine.start(*specs[0][:3])
            return
        pod.container = self.engine.start_first(specs[0], names)
        for container, each in zip(spec["containers"][1:], specs[1:], strict=True):
            pod.beside[container["name"]] = self.engine.start_beside(pod.container, each, names)

    def _condition(self, pod: Pod, condition: dict[str, str], message: str) -> None:
        pod.stored["status"] = {"phase": "Pending", "conditions": [{**condition, "message": message}]}
        self.note(pod)

    def _waiting(self, pod: Pod, reason: str, message: str) -> None:
        state = {"waiting": {"reason": reason, "message": message}}
        statuses = [_container_status(container, state) for container in pod.stored["spec"]["containers"]]
        pod.stored["status"] = {"phase": "Pending", "containerStatuses": statuses}
        self.note(pod)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    cluster: Cluster
    context: ssl.SSLContext | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.connections: set[Any] = set()
        super().__init__(*arguments, **named)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note what is wrong, which is not that a client has gone."""
        error = sys.exc_info()[1]
        if not isinstance(error, (OSError, ValueError)):
            self.cluster.faults.append("".join(traceback.format_exception(error)))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        if self.server.context is not None:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        self.server.connections.add(self.request)
        super().setup()

    def finish(self) -> None:
        self.server.connections.discard(self.request)
        with suppress(OSError, ValueError):
            super().finish()
        self.request.close()

    def log_message(self, *arguments: Any) -> None:
        """Tests print nothing."""

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_DELETE(self) -> None:
        self._answer(self._delete)

    def _answer(self, work: Callable[[list[str], dict[str, list[str]]], dict[str, Any] | None]) -> None:
        url = urlsplit(self.path)
        call = f"{self.command} {url.path}"
        cluster = self.server.cluster
        cluster.calls.append(call)
        try:
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Refusal(401, "Unauthorized", "Unauthorized")
            for failure in cluster.failures:
                if call.startswith(failure[0]):
                    cluster.failures.remove(failure)
                    self.rfile.read(int(self.headers.get("Content-Length") or 0))
                    raise Refusal(failure[1], "Planted", "a planted failure")
            answer = work(url.path.strip("/").split("/"), parse_qs(url.query, keep_blank_values=True))
        except Refusal as refusal:
            self._send(refusal.code, refusal.status)
            return
        if answer is None:
            return
        for beginning in cluster.lost:
            if call.startswith(beginning):
                cluster.lost.remove(beginning)
                self.close_connection = True
                _break_off(self.request)
                return
        self._send(201 if self.command == "POST" else 200, answer)

    def _send(self, code: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _get(self, path: list[str], query: dict[str, list[str]]) -> dict[str, Any] | None:
        cluster = self.server.cluster
        if path == ["version"]:
            keys = ("buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion", "platform")
            return {**dict.fromkeys(keys, ""), "major": "1", "minor": "37", "gitVersion": "v1.37.0"}
        if path[:2] == ["api", "v1"] and path[4:5] == ["pods"]:
            if len(path) == 5:
                _known(query, "fieldSelector", "labelSelector", "limit", "watch", "timeoutSeconds")
                if query.get("watch") in (["true"], ["True"]):
                    self._watch(query)
                    return None
                return {
                    "kind": "PodList",
                    "apiVersion": "v1",
                    "metadata": {"resourceVersion": str(cluster.version)},
                    "items": [pod.stored for pod in list(cluster.pods.values()) if _chosen(pod.stored, query)],
                }
            pod = cluster.pods.get(path[5])
            if pod is None:
                raise Refusal(404, "NotFound", f'pods "{path[5]}" not found')
            if path[6:] == ["exec"]:
                self._exec(pod, query)
                return None
            return pod.stored
        if path[:3] == ["apis", "networking.k8s.io", "v1"] and len(path) == 7 and path[6] in cluster.policies:
            return cluster.policies[path[6]]
        raise Refusal(404, "NotFound", "the server could not find the requested resource")

    def _post(self, path: list[str], query: dict[str, list[str]]) -> dict[str, Any]:
        _known(query)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        cluster = self.server.cluster
        if path[:2] == ["api", "v1"] and path[4:] == ["pods"]:
            return cluster.create(path[3], body)
        if path[:3] == ["apis", "networking.k8s.io", "v1"] and path[5:] == ["networkpolicies"]:
            name = _check(body, "V1NetworkPolicy")
            if name in cluster.policies:
                raise Refusal(409, "AlreadyExists", f'networkpolicies "{name}" already exists')
            cluster.policies[name] = body
            return body
        raise Refusal(404, "NotFound", "the server could not find the requested resource")

    def _delete(self, path: list[str], query: dict[str, list[str]]) -> dict[str, Any]:
        _known(query, "gracePeriodSeconds")
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if query.get("gracePeriodSeconds") != ["0"]:
            raise Refusal(400, "BadRequest", "this cluster only deletes at once")
        return self.server.cluster.delete(path[5])

    def _watch(self, query: dict[str, list[str]]) -> None:
        """Send what the pods are, and then what changes."""
        cluster = self.server.cluster
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        seen: dict[str, tuple[str, dict[str, Any]]] = {}
        cut = cluster.cut_watches > 0
        with cluster.changed:
            cluster.cut_watches -= cut
            cluster.changed.notify_all()
        deadline = threading.Event()
        timer = threading.Timer(float(query["timeoutSeconds"][0]), deadline.set)
        timer.start()
        try:
            # A client sends nothing here, so what can be read is that it has gone.
            while not deadline.is_set() and not select.select([self.request], [], [], 0)[0]:
                for event in self._events(seen, query):
                    line = json.dumps(event).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                    if cut:
                        self.close_connection = True
                        _break_off(self.request)
                        return
                with cluster.changed:
                    cluster.changed.wait(0.05)
            self.wfile.write(b"0\r\n\r\n")
        finally:
            timer.cancel()

    def _events(
        self, seen: dict[str, tuple[str, dict[str, Any]]], query: dict[str, list[str]]
    ) -> Iterator[dict[str, Any]]:
        pods = {name: pod.stored for name, pod in list(self.server.cluster.pods.items()) if _chosen(pod.stored, query)}
        for name in list(seen.keys() - pods.keys()):
            yield {"type": "DELETED", "object": seen.pop(name)[1]}
        for name, stored in pods.items():
            version = stored["metadata"].get("resourceVersion", "")
            if name not in seen or seen[name][0] != version:
                yield {"type": "MODIFIED" if name in seen else "ADDED", "object": stored}
                seen[name] = (version, stored)

    def _exec(self, pod: Pod, query: dict[str, list[str]]) -> None:
        """Run a command as a kubelet does, over a websocket."""
        _known(query, "command", "container", "stdin", "stdout", "stderr", "tty")
        if self.server.cluster.refuses_exec:
            name = pod.stored["metadata"]["name"]
            raise Refusal(403, "Forbidden", f'pods "{name}" is forbidden: cannot create resource "pods/exec"')
        if pod.container is None:
            raise Refusal(400, "BadRequest", "container is not running")
        first = pod.stored["spec"]["containers"][0]["name"]
        container = {first: pod.container, **pod.beside}.get(query.get("container", [""])[0])
        if container is None:
            raise Refusal(400, "BadRequest", "there is no such container")
        offered = [name.strip() for name in self.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        spoken = next((name for name in self.server.cluster.subprotocols if name in offered), None)
        if self.headers.get("Upgrade", "").lower() != "websocket" or spoken is None:
            raise Refusal(400, "BadRequest", "Upgrade request required")
        digest = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + _SOCKET_KEY).encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
        self.send_header("Sec-WebSocket-Protocol", spoken)
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        pod.sockets.append(self.request)
        flags = {name: query.get(name) in (["true"], ["True"]) for name in ("stdin", "stdout", "stderr", "tty")}
        assert flags["stdin"]
        assert flags["stdout"]
        assert flags["stderr"] != flags["tty"]
        _Execution(self.request, container, query["command"], flags["tty"]).serve()


class _Execution:
    """One process and its websocket."""

    def __init__(self, connection: Any, container: Container, command: list[str], terminal: bool) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._lock = threading.Lock()
        self._buffer = bytearray()
        self._container = container
        self._command = command
        self._terminal = terminal
        self._over = threading.Event()

    def serve(self) -> None:
        """Go on until the process or the client has gone."""
        try:
            channel = self._container.open(self._command, terminal=self._terminal)
        except EngineError as error:
            failure = {"status": "Failure", "reason": "InternalError", "message": str(error), "code": 500}
            self._message(3, json.dumps({"metadata": {}, **failure}).encode())
            self._frame(8, (1000).to_bytes(2, "big"))
            return
        output = threading.Thread(target=self._pump, args=(channel,), daemon=True)
        output.start()
        with suppress(OSError):
            while not self._over.is_set():
                opcode, payload = self._next()
                if opcode == 8:
                    break
                if opcode == 9:
                    self._frame(10, payload)
                elif opcode == 2 and payload[:1] == b"\x00":
                    channel.write(payload[1:])
                elif opcode == 2 and payload[:1] == b"\x04":
                    size = json.loads(payload[1:])
                    assert size.keys() == {"Width", "Height"}
                    channel.resize(size["Width"], size["Height"])
                elif opcode == 2:
                    raise AssertionError(f"a message on a channel that there is not: {payload[:20]!r}")
        self._over.set()
        output.join()
        channel.close()

    def _pump(self, channel: Any) -> None:
        with suppress(OSError, EngineError):
            while not self._over.is_set():
                data = channel.read(0.05)
                if data is None:
                    self._message(3, json.dumps(_final(channel.exit_code(10.0))).encode())
                    self._frame(9, b"still there?")  # the client is not to mind what comes after the status
                    self._frame(8, (1000).to_bytes(2, "big"))
                    break
                for start in range(0, len(data), 4096):
                    self._message(1, data[start : start + 4096])
        self._over.set()

    def _message(self, number: int, data: bytes) -> None:
        self._frame(2, bytes([number]) + data)

    def _frame(self, opcode: int, payload: bytes) -> None:
        length = len(payload)
        size = bytes([length]) if length < 126 else bytes([126]) + length.to_bytes(2, "big")
        view = memoryview(bytes([0x80 | opcode]) + size + payload)
        while view:
            with self._lock:
                try:
                    sent = self._connection.send(view)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    sent = 0
            view = view[sent:]
            if not sent:
                select.select([], [self._connection], [], 0.05)

    def _next(self) -> tuple[int, bytes]:
        first, second = self._take(2)
        length = second & 0x7F
        if length == 126:
            length = int.from_bytes(self._take(2), "big")
        elif length == 127:
            length = int.from_bytes(self._take(8), "big")
        assert second & 0x80, "a client has to mask its frames"
        mask = self._take(4)
        data = self._take(length)
        key = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
        return first & 0x0F, (int.from_bytes(data, "big") ^ key).to_bytes(length, "big")

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if self._over.is_set():
                raise ConnectionError
            with self._lock:
                try:
                    data = self._connection.recv(1 << 16)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    data = None
            if data == b"":
                raise ConnectionError
            if data:
                self._buffer += data
            else:
                select.select([self._connection], [], [], 0.05)
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def _remove(pod: Pod) -> None:
    for container in (*pod.beside.values(), *([pod.container] if pod.container is not None else [])):
        container.remove()


def _break_off(connection: Any) -> None:
    """End a connection. ``SSLSocket.shutdown`` would also end decryption, and a reader would get encrypted bytes."""
    socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _final(code: int | None) -> dict[str, Any]:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: error executing command, exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _check(body: dict[str, Any], kind: str) -> str:
    """Read a body with the official schema; return its name."""
    from kubernetes import client

    if f"V1{body.get('kind')}" != kind:
        raise Refusal(400, "BadRequest", f"the body is a {body.get('kind')}, not a {kind}")
    model = getattr(client, kind)
    try:
        read = model.model_validate(body)
    except ValueError as error:
        raise Refusal(400, "BadRequest", f"strict decoding error: {error}") from error
    if client.ApiClient(client.Configuration(host="http://x")).sanitize_for_serialization(read) != body:
        raise Refusal(400, "BadRequest", "strict decoding error: the body has unknown fields")
    metadata = body["metadata"]
    if not _NAME.fullmatch(metadata.get("name", "")):
        raise Refusal(422, "Invalid", f"metadata.name: invalid value {metadata.get('name')!r}")
    for key, value in metadata.get("labels", {}).items():
        if not (_LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
            raise Refusal(422, "Invalid", f"metadata.labels: invalid label {key}={value}")
    for key in metadata.get("annotations", {}):
        if not _LABEL_KEY.fullmatch(key):
            raise Refusal(422, "Invalid", f"metadata.annotations: invalid key {key}")
    return str(metadata["name"])


def _check_pod(body: dict[str, Any]) -> None:
    _check(body, "V1Pod")
    spec = body["spec"]
    for container in spec["containers"]:
        for required in ("name", "image"):
            if not container.get(required):
                raise Refusal(422, "Invalid", f"spec.containers[0].{required}: Required value")
        for amounts in container.get("resources", {}).values():
            for amount in amounts.values():
                _number(amount)
        for entry in container.get("env", []):
            if not entry["name"] or "=" in entry["name"]:
                raise Refusal(422, "Invalid", f"spec.containers[0].env: invalid name {entry['name']!r}")
    names = [container["name"] for container in spec["containers"]]
    if len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        raise Refusal(422, "Invalid", f"spec.containers: names must be different DNS labels, got {names}")
    if spec.get("hostname") is not None and not _NAME.fullmatch(spec["hostname"]):
        raise Refusal(422, "Invalid", f"spec.hostname: invalid value {spec['hostname']!r}")
    if spec.get("activeDeadlineSeconds", 1) < 1:
        raise Refusal(422, "Invalid", "spec.activeDeadlineSeconds: must be positive")


def _number(quantity: str) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*)", quantity)
    if found is None or found[2] not in _UNITS:
        raise Refusal(400, "BadRequest", f"quantities must match the regular expression; got {quantity!r}")
    return float(found[1]) * _UNITS[found[2]]


def _expanded(text: str) -> str:
    """Replace references to variables as a kubelet does; there are none, so each is left as it stands."""
    return re.sub(r"\$\$", "$", text)


def _known(query: Mapping[str, list[str]], *names: str) -> None:
    unknown = query.keys() - set(names)
    if unknown:
        raise Refusal(400, "BadRequest", f"unknown parameters {sorted(unknown)}")


def _chosen(stored: dict[str, Any], query: Mapping[str, list[str]]) -> bool:
    labels = stored["metadata"].get("labels", {})
    for wanted in query.get("labelSelector", [""])[0].split(","):
        key, _, value = wanted.partition("=")
        if key and labels.get(key) != value:
            return False
    field_selector = query.get("fieldSelector", [""])[0]
    return not field_selector or field_selector == f"metadata.name={stored['metadata']['name']}"


def _selects(policy: dict[str, Any], stored: dict[str, Any]) -> bool:
    """Tell whether a policy leaves a pod without any network."""
    spec = policy["spec"]
    wanted = spec["podSelector"].get("matchLabels", {})
    labels = stored["metadata"].get("labels", {})
    denies = set(spec["policyTypes"]) == {"Ingress", "Egress"} and not spec.get("ingress") and not spec.get("egress")
    return denies and all(labels.get(key) == value for key, value in wanted.items())


def _container_status(container: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": container["name"], "image": container["image"], "imageID": "", "ready": "running" in state,
        "restartCount": 0, "state": state,
    }  # fmt: skip


def _kubeconfig(server: str, authority: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": server, **authority}}],
        "users": [{"name": "test", "user": {"token": TOKEN}}],
    }


def _certify(server: _Server, folder: Path) -> Path:
    """Let a server speak TLS with a certificate that is made now; return the file of it."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(certificate, key)
    return certificate
