"""The tests of the task."""

import configparser
import subprocess
import tempfile
import unittest
from pathlib import Path

# What the agent has made, and git with its settings, runs as the agent for good, and so cannot touch the tests or the
# reward.
AGENT = {"user": "agent", "group": "agent"}
PROJECT = "/home/agent/project"
# Read before the tests have the rights of the agent alone: what main and feature were before the damage.
MAIN, FEATURE = Path("/usr/share/git-rescue/lost").read_text().split()


def git(*arguments):
    environment = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["/usr/bin/git", "-c", "core.fsmonitor=false", "-c", "status.showUntrackedFiles=all", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20, env=environment, cwd="/",
                          **AGENT).stdout.strip()


class Rescued(unittest.TestCase):
    """What must be so when the work is done."""

    def setUp(self):
        # A clone has what the ids of its commits stand for, and no settings, replaced objects or grafts of the agent's.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = f"{folder.name}/copy"
        git("clone", "--quiet", "--bare", "--no-local", PROJECT, self.copy)

    def of_copy(self, *arguments):
        return git("--git-dir", self.copy, *arguments)

    def test_the_lost_commits_are_in_main(self):
        self.assertEqual(self.of_copy("merge-base", "refs/heads/main", MAIN), MAIN)

    def test_feature_is_back_with_its_commit(self):
        self.assertEqual(self.of_copy("rev-parse", "refs/heads/feature"), FEATURE)

    def test_feature_was_merged(self):
        self.assertEqual(sorted(self.of_copy("rev-parse", "refs/heads/main^@").split()), sorted([MAIN, FEATURE]))

    def test_both_settings_are_kept(self):
        settings = configparser.ConfigParser(interpolation=None)
        settings.read_string(self.of_copy("show", "refs/heads/main:config.ini"))
        self.assertEqual(dict(settings["net"]), {"timeout": "60", "retries": "3"})
        self.assertEqual(self.of_copy("diff", "--name-only", MAIN, "refs/heads/main"), "config.ini")

    def test_main_is_checked_out_and_clean(self):
        self.assertEqual(git("-C", PROJECT, "symbolic-ref", "HEAD"), "refs/heads/main")
        self.assertEqual(git("-C", PROJECT, "status", "--porcelain"), "")
        # What the agent's own git takes for clean is a matter of its settings.
        self.of_copy("read-tree", "refs/heads/main")
        self.assertEqual(self.of_copy("--work-tree", PROJECT, "status", "--porcelain"), "")
        # It was so before anything was done, too.
        self.assertIn(FEATURE, self.of_copy("rev-parse", "refs/heads/main^@").split())


if __name__ == "__main__":
    unittest.main()
