"""The tests of the task."""

import os
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

# What the agent has made runs as the agent for good, and so cannot touch the tests or the reward.
AGENT = {"user": "agent", "group": "agent"}


def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


def run(number, seconds, *commands):
    with tempfile.TemporaryDirectory() as folder:
        jobs = Path(folder, "jobs")
        jobs.write_text("\n".join(commands) + "\n")
        done = subprocess.run(["/home/agent/runjobs", str(number), str(seconds), str(jobs)], cwd=folder,
                              capture_output=True, text=True, timeout=25, **AGENT)
        return done.returncode, done.stdout.splitlines(), done.stderr


class Runner(unittest.TestCase):
    """What must be so when the work is done."""

    def test_exit_codes_in_order(self):
        self.assertEqual(run(3, 5, "sleep 0.3; exit 7", "", "true", "exit 255")[:2],
                         (2, ["1 exit 7", "2 exit 0", "3 exit 255"]))

    def test_signals(self):
        self.assertEqual(run(2, 5, "kill -TERM $$", "kill -9 $$", "true")[:2],
                         (2, ["1 signal TERM", "2 signal KILL", "3 exit 0"]))

    def test_output_goes_to_the_error_stream(self):
        code, lines, errors = run(1, 5, "echo loud", "echo louder >&2")
        self.assertEqual((code, lines), (0, ["1 exit 0", "2 exit 0"]))
        self.assertIn("loud\n", errors)
        self.assertIn("louder\n", errors)

    def test_no_more_than_allowed_run_at_once(self):
        track = "mkdir r$$; ls -d r* | wc -l >> most; sleep 1; rmdir r$$"
        with tempfile.TemporaryDirectory() as folder:
            jobs = Path(folder, "jobs")
            jobs.write_text(f"cd {folder}; {track}\n" * 6)
            begun = time.monotonic()
            done = subprocess.run(["/home/agent/runjobs", "3", "9", str(jobs)], capture_output=True, timeout=25, **AGENT)
            seconds = time.monotonic() - begun
            self.assertEqual(done.returncode, 0)
            self.assertLessEqual(max(map(int, read(Path(folder, "most")).split())), 3)
            self.assertLess(seconds, 5.5)

    def test_a_slow_command_is_killed_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = Path(folder, "mark")
            result = run(2, 2, f"(sleep 5; touch {mark}) & wait", "trap '' TERM; sleep 20", "true")
            self.assertEqual(result[:2], (2, ["1 timeout", "2 timeout", "3 exit 0"]))
            time.sleep(4)
            self.assertFalse(mark.exists())


if __name__ == "__main__":
    unittest.main()
