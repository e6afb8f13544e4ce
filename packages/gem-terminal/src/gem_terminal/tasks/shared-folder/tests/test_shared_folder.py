"""The tests of the task."""

import stat
import unittest
from pathlib import Path

SITE = Path("/home/agent/site")


def mode(path):
    return oct(stat.S_IMODE((SITE / path).lstat().st_mode))


class Permissions(unittest.TestCase):
    """What must be so when the work is done."""

    def test_folders(self):
        for path in (".", "pages", "pages/deep", "bin"):
            self.assertEqual((path, mode(path)), (path, "0o755"))
        self.assertEqual(mode("uploads"), "0o3777")

    def test_files(self):
        for path in ("index.html", "pages/a b.html", "pages/deep/c.html", "bin/README", "uploads/photo.jpg", "empty"):
            self.assertEqual((path, mode(path)), (path, "0o644"))
        for path in ("bin/deploy", "bin/clean.sh", "pages/tool.py"):
            self.assertEqual((path, mode(path)), (path, "0o755"))

    def test_private(self):
        self.assertEqual(mode("private"), "0o700")
        self.assertEqual(mode("private/keys"), "0o700")
        for path in ("private/key.pem", "private/keys/more.pem", "private/rotate.sh"):
            self.assertEqual((path, mode(path)), (path, "0o600"))

    def test_what_lies_outside_is_untouched(self):
        self.assertEqual(oct(stat.S_IMODE(Path("/home/agent/outside.txt").stat().st_mode)), "0o640")
        self.assertTrue((SITE / "link").is_symlink())
        self.assertEqual(mode("index.html"), "0o644")


if __name__ == "__main__":
    unittest.main()
