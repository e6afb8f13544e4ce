"""The tests of the task."""

import hashlib
import unittest
import zipfile
from pathlib import Path

HOME = Path("/home/agent")
DIGEST = Path("/usr/share/letter.digest").read_text().strip()


class Letter(unittest.TestCase):
    """What must be so when the work is done."""

    def test_the_letter_is_complete(self):
        self.assertEqual(hashlib.sha256((HOME / "letter.txt").read_bytes()).hexdigest(), DIGEST)

    def test_the_letter_is_packed(self):
        with zipfile.ZipFile(HOME / "letter.zip") as archive:
            self.assertEqual(archive.namelist(), ["letter.txt"])
            self.assertEqual(hashlib.sha256(archive.read("letter.txt")).hexdigest(), DIGEST)


if __name__ == "__main__":
    unittest.main()
