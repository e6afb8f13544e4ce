"""The tests of the task."""

import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

# What the agent has made runs as the agent for good, and so cannot touch the tests or the reward.
AGENT = {"user": "agent", "group": "agent"}
IGNORED = "# temporary files\n\n*.tmp\n"


def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


class Backup(unittest.TestCase):
    """What must be so when the work is done."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.source, self.target = self.root / "my files", self.root / "the target"
        for name in ("a.txt", "b c.txt", ".hidden", "deep/er/-x.txt", "deep/new\nline", "skip.tmp", "deep/skip.tmp", "*"):
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        (self.source / ".backupignore").write_text(IGNORED)
        (self.source / "empty").mkdir()
        (self.source / "link").symlink_to("a.txt")
        os.chmod(self.source / "a.txt", 0o640)
        os.utime(self.source / "a.txt", (1, 1_000_000_000))

    def tearDown(self):
        self.folder.cleanup()

    def backup(self, stamp, source=None):
        return subprocess.run(["/home/agent/backup.sh", str(source or self.source), str(self.target)], text=True, cwd="/",
                              env={"PATH": os.environ["PATH"], "STAMP": stamp}, capture_output=True, timeout=20, **AGENT)

    def test_every_file_is_copied(self):
        done = self.backup("2025-01-01")
        self.assertEqual((done.returncode, done.stdout), (0, "7 files\n"))
        made = self.target / "2025-01-01"
        found = sorted(str(p.relative_to(made)) for p in made.rglob("*") if p.is_symlink() or not p.is_dir())
        self.assertEqual(found, sorted(
            ["a.txt", "b c.txt", ".hidden", "deep/er/-x.txt", "deep/new\nline", "*", ".backupignore"]))
        for name in found:
            self.assertEqual(read(made / name).decode(), IGNORED if name == ".backupignore" else name)
            self.assertTrue(stat.S_ISREG((made / name).lstat().st_mode), f"{name} is a link")
            self.assertFalse((made / name).samefile(self.source / name), f"{name} is no copy")
        self.assertFalse((made / "empty").exists())

    def test_modes_and_times_are_kept(self):
        self.backup("2025-01-01")
        status = (self.target / "2025-01-01" / "a.txt").stat()
        self.assertEqual((oct(status.st_mode & 0o777), int(status.st_mtime)), ("0o640", 1_000_000_000))

    def test_a_missing_folder_is_refused(self):
        done = self.backup("2025-01-01", self.root / "nothing here")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"no such folder: {self.root}/nothing here\n")
        self.assertFalse(self.target.exists())

    def test_three_stamps_are_left(self):
        for day in (3, 1, 5, 2, 4):
            self.assertEqual(self.backup(f"2025-01-0{day}").returncode, 0)
        self.assertEqual(sorted(p.name for p in self.target.iterdir()), ["2025-01-03", "2025-01-04", "2025-01-05"])


if __name__ == "__main__":
    unittest.main()
