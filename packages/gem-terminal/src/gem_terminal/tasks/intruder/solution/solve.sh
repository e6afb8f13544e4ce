#!/bin/bash
set -e
cd ~
python3 - <<'END'
import gzip, json, re
from collections import Counter
from datetime import datetime
from pathlib import Path

lines = []
for path in Path("logs").glob("auth.log*"):
    data = path.read_bytes()
    lines += (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode().splitlines()
events = []
for line in lines:
    found = re.match(r"(\w+ +\d+ [\d:]+) \S+ sshd\[\d+\]: (Failed|Accepted) password for (?:invalid user )?(\S+) from (\S+)", line)
    if found:
        events.append((datetime.strptime("2025 " + found[1], "%Y %b %d %H:%M:%S"), *found.groups()[1:]))
failed = Counter()
for when, kind, user, address in sorted(events):
    if kind == "Failed":
        failed[user, address] += 1
    elif failed[user, address] >= 20:
        break
agents, largest = {}, (0, "")
for line in Path("logs/web/access.log").read_text().splitlines():
    found = re.match(r'(\S+) \S+ \S+ \[([^]]+)\] "\S+ (\S+) [^"]*" (\d+) (\d+) "[^"]*" "([^"]*)"', line)
    source, stamp, path, status, size, agent = found.groups()
    agents.setdefault(agent, set()).add(source)
    moment = datetime.strptime(stamp, "%d/%b/%Y:%H:%M:%S +0000")
    if source == address and status == "200" and moment > when:
        largest = max(largest, (int(size), path.partition("?")[0]))
used = next(sources for sources in agents.values() if address in sources)
json.dump({"address": address, "user": user, "failed": failed[user, address], "login": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
           "addresses": sorted(used), "stolen": largest[1]}, open("report.json", "w"))
END
