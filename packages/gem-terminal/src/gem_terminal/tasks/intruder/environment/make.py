"""Makes the logs, and the truth for the tests."""

import gzip
import json
import random
from datetime import datetime, timedelta
from pathlib import Path

rng = random.Random("intruder")
begin = datetime(2025, 3, 1)
users = ["anna", "root", "deploy", "mike", "backup"]
intruder, victim = "203.0.113.77", "deploy"
ssh = []


def event(when, kind, user, address):
    invalid = "invalid user " if kind == "Failed" and user not in users else ""
    line = f"sshd[{rng.randint(300, 9999)}]: {kind} password for {invalid}{user} from {address} port {rng.randint(1024, 65000)} ssh2"
    ssh.append((when, line))


for _ in range(900):
    when = begin + timedelta(seconds=rng.randrange(20 * 86400))
    address = f"198.51.100.{rng.randint(1, 60)}"
    if rng.random() < 0.2:
        event(when, "Accepted", rng.choice(users), f"192.0.2.{rng.randint(1, 9)}")
    else:
        event(when, "Failed", rng.choice([*users, "admin", "test", "oracle"]), address)
for number in range(40):  # guesses one user and is let in as another
    event(begin + timedelta(days=4, seconds=number * 7), "Failed", "root", "198.51.100.99")
event(begin + timedelta(days=5), "Accepted", "mike", "198.51.100.99")
login = begin + timedelta(days=11, hours=3, minutes=14, seconds=9)
failed = 0
for number in range(57):
    event(login - timedelta(seconds=(57 - number) * 11), "Failed", victim, intruder)
    failed += 1
event(login - timedelta(seconds=400), "Failed", "anna", intruder)
event(login, "Accepted", victim, intruder)
for number in range(5):
    event(login + timedelta(hours=number + 1), "Failed", victim, intruder)
event(login + timedelta(days=1), "Accepted", victim, intruder)
ssh.sort()
logs = Path("/home/agent/logs")
(logs / "web").mkdir(parents=True)
lines = [f"{when:%b} {when.day:2} {when:%H:%M:%S} web1 {line}" for when, line in ssh]
first, second = len(lines) // 3, 2 * len(lines) // 3
(logs / "auth.log.2.gz").write_bytes(gzip.compress("\n".join(lines[:first]).encode() + b"\n", mtime=0))
(logs / "auth.log.1").write_text("\n".join(lines[first:second]) + "\n")
(logs / "auth.log").write_text("\n".join(lines[second:]) + "\n")

agents = [f"Mozilla/5.0 (X11; Linux x86_64; rv:1{n}.0)" for n in range(30, 40)]
theirs = "curl/7.88.1 (take-all)"
web = []
for _ in range(2500):
    when = begin + timedelta(seconds=rng.randrange(20 * 86400))
    path = rng.choice(["/", "/about", "/files/plan.pdf?x=1", "/files/archive.tar.gz", "/login", "/missing"])
    web.append((when, f"198.51.100.{rng.randint(1, 60)}", path, 404 if path == "/missing" else 200, rng.randint(200, 900000), rng.choice(agents)))
for offset, path, status, size in (
    (-3600, "/export/everything.sql", 200, 99_000_000), (60, "/export/customers.sql?limit=all", 200, 48_211_007),
    (90, "/export/orders.sql", 200, 31_000_111), (120, "/export/secrets.sql", 403, 77_000_000),
):
    web.append((login + timedelta(seconds=offset), intruder, path, status, size, theirs))
others = ["198.51.100.201", "198.51.100.23", "203.0.113.8"]
for address in others:
    web.append((login + timedelta(hours=5), address, "/export/orders.sql", 200, 88_000_000, theirs))
web.sort()
(logs / "web" / "access.log").write_text("".join(
    f'{address} - - [{when:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1" {status} {size} "-" "{agent}"\n'
    for when, address, path, status, size, agent in web
))
truth = {
    "address": intruder, "user": victim, "failed": failed, "login": f"{login:%Y-%m-%dT%H:%M:%SZ}",
    "addresses": sorted([intruder, *others]), "stolen": "/export/customers.sql",
}
hidden = Path("/usr/share/intruder")
hidden.mkdir(mode=0o700)
(hidden / "truth.json").write_text(json.dumps(truth))
