"""The tests of the task."""

import stat
import unittest
from pathlib import Path

SITE = Path("/home/agent/site")


def mode(path):
    return stat.filemode((SITE / path).lstat().st_mode)


class Permissions(unittest.TestCase):
    """What must be so when the work is done."""

    def test_folders(self):
        for path in (".", "pages", "pages/deep", "bin"):
            self.assertEqual((path, mode(path)), (path, "drwxr-xr-x"))
        self.assertEqual(mode("uploads"), "drwxrwsrwt")

    def test_files(self):
        for path in ("index.html", "pages/a b.html", "pages/deep/c.html", "bin/README", "uploads/photo.jpg", "empty"):
            self.assertEqual((path, mode(path)), (path, "-rw-r--r--"))
        for path in ("bin/deploy", "bin/clean.sh", "pages/tool.py"):
            self.assertEqual((path, mode(path)), (path, "-rwxr-xr-x"))

    def test_private(self):
        self.assertEqual(mode("private"), "drwx------")
        self.assertEqual(mode("private/keys"), "drwx------")
        for path in ("private/key.pem", "private/keys/more.pem", "private/rotate.sh"):
            self.assertEqual((path, mode(path)), (path, "-rw-------"))

    def test_what_lies_outside_is_untouched(self):
        self.assertEqual(mode("../outside.txt"), "-rw-r-----")
        self.assertTrue((SITE / "link").is_symlink())
        self.assertEqual(mode("index.html"), "-rw-r--r--")


if __name__ == "__main__":
    unittest.main()
