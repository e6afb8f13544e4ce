"""The tests of the task."""

import json
import unittest
from pathlib import Path

TRUTH = json.loads(Path("/usr/share/intruder/truth.json").read_text())


class Report(unittest.TestCase):
    """What must be so when the work is done."""

    def setUp(self):
        self.report = json.loads(Path("/home/agent/report.json").read_text())

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
