"""The tests of the task."""

import json
import os
import stat
import unittest
from pathlib import Path

# Read before the tests have the rights of the agent alone.
TRUTH = json.loads(Path("/usr/share/intruder/truth.json").read_text())


def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


class Report(unittest.TestCase):
    """What must be so when the work is done."""

    def setUp(self):
        self.report = json.loads(read("/home/agent/report.json"))

    def test_who(self):
        self.assertEqual((self.report["address"], self.report["user"]), (TRUTH["address"], TRUTH["user"]))

    def test_when(self):
        self.assertEqual((self.report["failed"], self.report["login"]), (TRUTH["failed"], TRUTH["login"]))

    def test_accomplices(self):
        self.assertEqual(self.report["addresses"], TRUTH["addresses"])

    def test_what(self):
        self.assertEqual(self.report["stolen"], TRUTH["stolen"])


if __name__ == "__main__":
    unittest.main()
