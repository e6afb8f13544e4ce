"""The tests of the task."""

import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

# What the agent has made runs as the agent, and so cannot touch the tests or the reward.
AGENT = {"user": "agent", "group": "agent", "extra_groups": []}


def run(number, seconds, *commands):
    with tempfile.TemporaryDirectory() as folder:
        shutil.chown(folder, "agent", "agent")
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
        track = "mkdir r$$; ls -d r* | wc -l >> most; sleep 0.4; rmdir r$$"
        with tempfile.TemporaryDirectory() as folder:
            shutil.chown(folder, "agent", "agent")
            jobs = Path(folder, "jobs")
            jobs.write_text(f"cd {folder}; {track}\n" * 6)
            begun = time.monotonic()
            done = subprocess.run(["/home/agent/runjobs", "3", "9", str(jobs)], capture_output=True, timeout=25, **AGENT)
            seconds = time.monotonic() - begun
            self.assertEqual(done.returncode, 0)
            self.assertLessEqual(max(map(int, Path(folder, "most").read_text().split())), 3)
            self.assertLess(seconds, 2.0)

    def test_a_slow_command_is_killed_with_its_children(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.chown(folder, "agent", "agent")
            mark = Path(folder, "mark")
            result = run(2, 1, f"(sleep 2.5; touch {mark}) & wait", "trap '' TERM; sleep 20", "true")
            self.assertEqual(result[:2], (2, ["1 timeout", "2 timeout", "3 exit 0"]))
            time.sleep(2)
            self.assertFalse(mark.exists())


if __name__ == "__main__":
    unittest.main()
