#!/bin/bash
set -e
cd ~
python3 - <<'END'
import hashlib, os, shutil
from pathlib import Path

seen, kept = set(), []
files = sorted((p for p in Path("downloads").rglob("*") if p.is_file()), key=lambda p: os.fsencode(p.name))
for path in files:
    digest = hashlib.sha256(path.read_bytes()).digest()
    if digest in seen:
        continue
    seen.add(digest)
    kind = path.suffix[1:].lower() or "other"
    target = Path("sorted") / kind / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    size = path.stat().st_size
    shutil.move(path, target)
    kept.append(f"{kind}/{path.name} {size}".encode())
shutil.rmtree("downloads")
Path("sorted/INDEX").write_bytes(b"\n".join(sorted(kept)) + b"\n")
END
