"""The tests of the task."""

import hashlib
import unittest
from pathlib import Path

HOME = Path("/home/agent")
KEPT = {
    "csv/Q1 report.csv": 35, "jpg/holiday (1).jpg": 900, "jpg/zoo.jpg": 901, "other/.bashrc": 20, "other/LICENSE": 50,
    "other/notes": 12, "pdf/bill.final.pdf": 333, "pdf/bill.pdf": 321, "tar/backup.tar": 2048, "txt/-dash.txt": 7,
    "txt/a.txt": 10, "txt/ünïcode.txt": 15, "txt/with\nnewline.txt": 9,
}


class Sorted(unittest.TestCase):
    """What must be so when the work is done."""

    def test_every_kept_file_is_in_its_folder(self):
        found = {str(p.relative_to(HOME / "sorted")): p.stat().st_size
                 for p in (HOME / "sorted").rglob("*") if p.is_file() and p.name != "INDEX"}
        self.assertEqual(found, KEPT)

    def test_nothing_is_left(self):
        self.assertFalse((HOME / "downloads").exists())
        self.assertTrue((HOME / "sorted").is_dir())

    def test_contents_are_unchanged(self):
        content = (HOME / "sorted/jpg/zoo.jpg").read_bytes()
        self.assertEqual(hashlib.sha256(content).hexdigest(), hashlib.sha256(b"zoo" * 300 + b"!").hexdigest())

    def test_the_index_lists_them(self):
        lines = sorted(f"{name} {size}".encode() for name, size in KEPT.items())
        self.assertEqual((HOME / "sorted/INDEX").read_bytes().rstrip(b"\n"), b"\n".join(lines))


if __name__ == "__main__":
    unittest.main()
