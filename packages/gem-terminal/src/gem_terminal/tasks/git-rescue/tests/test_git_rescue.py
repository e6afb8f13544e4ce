"""The tests of the task."""

import subprocess
import unittest

# What the agent has made runs as the agent, and so cannot touch the tests or the reward.
AGENT = {"user": "agent", "group": "agent", "extra_groups": []}


def git(*arguments):
    command = ["git", "-C", "/home/agent/project", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, **AGENT).stdout.strip()


class Rescued(unittest.TestCase):
    """What must be so when the work is done."""

    def test_the_lost_commits_are_in_main(self):
        subjects = git("log", "--format=%s", "main").splitlines()
        self.assertIn("Raise the timeout", subjects)
        self.assertIn("Add a parser", subjects)

    def test_feature_is_back_with_its_commit(self):
        self.assertEqual(git("log", "-1", "--format=%s", "feature"), "Retry three times")
        self.assertEqual(git("rev-list", "--count", "feature"), "3")

    def test_feature_was_merged(self):
        self.assertEqual(len(git("log", "-1", "--format=%P", "main").split()), 2)
        self.assertEqual(git("merge-base", "feature", "main"), git("rev-parse", "feature"))

    def test_both_settings_are_kept(self):
        settings = git("show", "main:config.ini").splitlines()
        self.assertIn("timeout = 60", settings)
        self.assertIn("retries = 3", settings)
        self.assertFalse([line for line in settings if line[:4] in ("<<<<", "====", ">>>>")])

    def test_main_is_checked_out_and_clean(self):
        self.assertEqual(git("rev-parse", "--abbrev-ref", "HEAD"), "main")
        self.assertEqual(git("status", "--porcelain"), "")
        self.assertEqual(len(git("log", "-1", "--format=%P").split()), 2)


if __name__ == "__main__":
    unittest.main()
