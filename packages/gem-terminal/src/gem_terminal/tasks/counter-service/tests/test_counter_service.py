"""The tests of the task."""

import http.client
import json
import signal
import socket
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# What the agent has made runs as the agent for good, and so cannot touch the tests or the reward.
AGENT = {"user": "agent", "group": "agent"}
STORE = Path("/home/agent/counters.json")


class Service(unittest.TestCase):
    """What must be so when the work is done."""

    def setUp(self):
        STORE.unlink(missing_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    def start(self):
        self.process = subprocess.Popen(["/home/agent/serve", str(self.port)], env={"HOME": "/home/agent", "PATH": "/usr/bin:/bin"},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **AGENT)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.fail("it does not listen")

    def tearDown(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request(method, path, body)
        answer = connection.getresponse()
        content = answer.read().decode().strip()
        connection.close()
        return answer.status, content

    def test_counting(self):
        self.assertEqual(self.ask("GET", "/counters/a")[0], 404)
        self.assertEqual(self.ask("POST", "/counters/a", ""), (200, "1"))
        self.assertEqual(self.ask("POST", "/counters/a", "41"), (200, "42"))
        self.assertEqual(self.ask("POST", "/counters/a", "-2"), (200, "40"))
        self.assertEqual(self.ask("GET", "/counters/a"), (200, "40"))
        self.assertEqual(json.loads(self.ask("GET", "/counters")[1]), {"a": 40})
        self.assertEqual(self.ask("DELETE", "/counters/a")[0], 204)
        self.assertEqual(self.ask("DELETE", "/counters/a")[0], 404)

    def test_bad_requests(self):
        self.assertEqual(self.ask("POST", "/counters/a", "ten")[0], 400)
        self.assertEqual(self.ask("POST", "/counters/a", "1" * 2000)[0], 413)
        self.assertEqual(self.ask("POST", "/counters/BAD_NAME", "1")[0], 404)
        self.assertEqual(self.ask("GET", "/nothing")[0], 404)
        self.assertEqual(self.ask("PUT", "/counters/a", "1")[0], 405)
        self.assertEqual(self.ask("GET", "/counters/a")[0], 404)

    def test_many_at_once(self):
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda _: self.ask("POST", "/counters/busy", "1"), range(200)))
        self.assertEqual(self.ask("GET", "/counters/busy"), (200, "200"))

    def test_a_silent_client_keeps_nobody_waiting(self):
        with socket.create_connection(("127.0.0.1", self.port)):
            self.assertEqual(self.ask("POST", "/counters/a", "5"), (200, "5"))

    def test_it_remembers(self):
        self.assertEqual(self.ask("POST", "/counters/kept", "7"), (200, "7"))
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(10), 0)
        self.start()
        self.assertEqual(self.ask("GET", "/counters/kept"), (200, "7"))

    def test_only_the_loopback_hears(self):
        tables = [Path("/proc/net", name) for name in ("tcp", "tcp6")]
        listening = [line for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
        ours = [line.split()[1] for line in listening if line.split()[1].endswith(f":{self.port:04X}") and line.split()[3] == "0A"]
        self.assertEqual(ours, [f"0100007F:{self.port:04X}"])


if __name__ == "__main__":
    unittest.main()
