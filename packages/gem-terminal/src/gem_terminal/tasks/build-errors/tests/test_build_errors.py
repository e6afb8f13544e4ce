"""The tests of the task."""

import random
import statistics
import subprocess
import unittest
from pathlib import Path

# What the agent has made runs as the agent for good, and so cannot touch the tests or the reward.
AGENT = {"user": "agent", "group": "agent"}
PROJECT = "/home/agent/stats"


def make(*targets):
    return subprocess.run(["make", "-C", PROJECT, *targets], capture_output=True, text=True, timeout=30, **AGENT)


def stats(text):
    return subprocess.run([f"{PROJECT}/stats"], input=text, capture_output=True, text=True, timeout=20, **AGENT)


class Build(unittest.TestCase):
    """What must be so when the work is done."""

    def setUp(self):
        make("clean")
        built = make()
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertNotIn("warning", built.stderr)
        for flag in ("-Wall", "-Wextra", "-Werror"):
            self.assertIn(flag, built.stdout)

    def test_small(self):
        self.assertEqual(stats("1 2 3 4\n").stdout, "count 4\nmean 2.500\nmedian 2.500\nstddev 1.118\n")
        self.assertEqual(stats("5").stdout, "count 1\nmean 5.000\nmedian 5.000\nstddev 0.000\n")
        self.assertEqual(stats(" \n").stdout, "count 0\n")

    def test_large(self):
        rng = random.Random(5)
        numbers = [round(rng.uniform(-1e4, 1e4), 3) for _ in range(50_001)]
        mean, middle, spread = statistics.fmean(numbers), statistics.median(numbers), statistics.pstdev(numbers)
        self.assertEqual(stats("\n".join(map(str, numbers))).stdout,
                         f"count 50001\nmean {mean:.3f}\nmedian {middle:.3f}\nstddev {spread:.3f}\n")

    def test_no_number(self):
        for text in ("1 two 3", "1,2", "4x"):
            done = stats(text)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertTrue(done.stderr)

    def test_clean(self):
        make("clean")
        self.assertEqual([p.name for p in Path(PROJECT).rglob("*") if p.suffix == ".o" or p.name == "stats" and p.is_file()], [])
        self.assertTrue(Path(PROJECT, "Makefile").exists())


if __name__ == "__main__":
    unittest.main()
