"""The tests of the task."""

import os
import stat
import unittest
from pathlib import Path

HOME = Path("/home/agent")
KEPT = {
    "csv/Q1 report.csv": b"region,sum\nnorth,1\nsouth,2\nwest,33\n", "jpg/holiday (1).jpg": b"h" * 900,
    "jpg/zoo.jpg": b"zoo" * 300 + b"!", "other/.bashrc": b"# a copy of bashrc\n\n", "other/LICENSE": b"x" * 50,
    "other/notes": b"remember me\n", "pdf/bill.final.pdf": b"%PDF" + b"c" * 329, "pdf/bill.pdf": b"%PDF" + b"b" * 317,
    "tar/backup.tar": b"\0" * 2048, "txt/-dash.txt": b"a dash\n", "txt/a.txt": b"some text\n",
    "txt/ünïcode.txt": b"letters marked\n", "txt/with\nnewline.txt": b"two line\n",
}

def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


class Sorted(unittest.TestCase):
    """What must be so when the work is done."""

    def test_every_kept_file_is_in_its_folder(self):
        files = [p for p in (HOME / "sorted").rglob("*") if p.is_symlink() or not p.is_dir()]
        self.assertEqual({str(p.relative_to(HOME / "sorted")) for p in files}, {*KEPT, "INDEX"})
        self.assertFalse([p for p in files if p.is_symlink()])

    def test_nothing_is_left(self):
        self.assertFalse((HOME / "downloads").exists())
        self.assertTrue((HOME / "sorted").is_dir())

    def test_contents_are_unchanged(self):
        for name, content in KEPT.items():
            self.assertEqual(read(HOME / "sorted" / name), content)

    def test_the_index_lists_them(self):
        lines = sorted(f"{name} {len(content)}".encode() for name, content in KEPT.items())
        self.assertEqual(read(HOME / "sorted/INDEX").rstrip(b"\n"), b"\n".join(lines))


if __name__ == "__main__":
    unittest.main()
