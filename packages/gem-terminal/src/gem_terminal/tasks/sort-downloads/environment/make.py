"""Makes the folder that is to be sorted."""

from pathlib import Path

FILES = {
    "Q1 report.csv": b"region,sum\nnorth,1\nsouth,2\nwest,33\n", "2024/holiday (1).JPG": b"", "zoo.jpg": b"zoo" * 300 + b"!",
    "old/zoo_copy.jpg": b"zoo" * 300 + b"!", ".bashrc": b"# a copy of bashrc\n\n", "LICENSE": b"x" * 50, "old/deep/er/notes": b"remember me\n",
    "bill.pdf": b"%PDF" + b"b" * 317, "bill.final.pdf": b"%PDF" + b"c" * 329, "backup.tar": b"\0" * 2048, "-dash.txt": b"a dash\n",
    "a.txt": b"some text\n", "b.txt": b"some text\n", "2024/ünïcode.txt": b"letters marked\n"[:15], "with\nnewline.txt": b"two line\n",
}
FILES["2024/holiday (1).jpg"] = b"h" * 900
del FILES["2024/holiday (1).JPG"]
for name, content in FILES.items():
    path = Path("/home/agent/downloads") / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
Path("/home/agent/downloads/empty/folder").mkdir(parents=True)
