"""The tests of the task."""

import io
import os
import stat
import unittest
import zipfile
from pathlib import Path

HOME = Path("/home/agent")
# Read before the tests have the rights of the agent alone.
LETTER = Path("/usr/share/nested-archives/letter.txt").read_bytes()


def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


class Letter(unittest.TestCase):
    """What must be so when the work is done."""

    def test_the_letter_is_complete(self):
        self.assertEqual(read(HOME / "letter.txt"), LETTER)

    def test_the_letter_is_packed(self):
        with zipfile.ZipFile(io.BytesIO(read(HOME / "letter.zip"))) as archive:
            self.assertEqual(archive.namelist(), ["letter.txt"])
            with archive.open("letter.txt") as packed:  # not whole: it may be far larger than its archive
                self.assertEqual(packed.read(len(LETTER) + 1), LETTER)


if __name__ == "__main__":
    unittest.main()
