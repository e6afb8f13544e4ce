"""Makes the delivery, and the letter for the tests."""

import bz2
import gzip
import hashlib
import io
import lzma
import random
import tarfile
import zipfile
from pathlib import Path

rng = random.Random("letter")
words = "the a sea ship wind letter harbour captain night lantern rope map gull storm calm island".split()
parts = {
    f"part-{number:02}.txt": (" ".join(rng.choice(words) for _ in range(60)) + f" ({number})\n").encode()
    for number in range(1, 13)
}


def tar(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def some(*numbers, damage=()):
    chosen = {f"part-{n:02}.txt": parts[f"part-{n:02}.txt"] for n in numbers}
    for n in damage:
        chosen[f"part-{n:02}.txt"] = chosen[f"part-{n:02}.txt"].replace(b"the", b"teh") + b"?"
    return chosen


sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in parts.items()).encode()
deepest = zipped({"deep/" + name: data for name, data in some(7, 8).items()})
middle = lzma.compress(tar({"box.dat": deepest, "notes/SHA256SUMS": sums, **some(5)}))
outer = {
    "readme.txt": b"Handle with care.\n",
    "one.tar.bz2": bz2.compress(tar(some(1, 2, 3, damage=(2,)))),
    "two.zip": zipped({"middle": middle, **some(4, 6, damage=(6,))}),
    "three": gzip.compress(tar({"a/b/c/spare.zip": zipped(some(2, 9, 10))})),
    "four.jpg": zipped({"x.gz": gzip.compress(tar(some(6, 11)))}),
    "five.tar": tar({"inner.tar": tar(some(12, 1, damage=(1,)))}),
}
Path("/home/agent/delivery.tar.gz").write_bytes(gzip.compress(tar(outer), mtime=0))
hidden = Path("/usr/share/nested-archives")
hidden.mkdir(mode=0o700)
(hidden / "letter.txt").write_bytes(b"".join(parts.values()))
