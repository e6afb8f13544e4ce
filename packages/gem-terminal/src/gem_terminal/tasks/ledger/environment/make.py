"""Makes the ledger, and a copy for the tests."""

import random
import shutil
import sqlite3
from pathlib import Path

rng = random.Random("ledger")
names = ["Bank", "Ana", "Ben", "Cleo", "Dan", "Eve", "Fay", "Gus", "Hal"]
path = Path("/home/agent/ledger.db")
with sqlite3.connect(path) as database:
    database.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, opened TEXT, balance INTEGER)")
    database.execute("CREATE TABLE transfers (id INTEGER PRIMARY KEY, day TEXT, source INTEGER, target INTEGER, cents INTEGER)")
    for number, name in enumerate(names):
        database.execute("INSERT INTO accounts VALUES (?, ?, '2025-01-01', ?)", (number + 1, name, rng.randint(-999, 9999)))
    made = []
    for number in range(1, 401):
        day = f"2025-0{rng.randint(1, 6)}-{rng.randint(1, 28):02}"
        source, target = rng.sample(range(1, 10), 2)
        cents = rng.randint(100, 20000) if source != 1 else rng.randint(5000, 60000)
        transfer = (day, source, target, cents)
        chance = rng.random()
        if chance < 0.06 and made:
            transfer = rng.choice(made)
        elif chance < 0.09:
            transfer = (day, source, 77, cents)
        elif chance < 0.12:
            transfer = (day, source, target, rng.choice([0, -cents]))
        made.append(transfer)
        database.execute("INSERT INTO transfers VALUES (?, ?, ?, ?, ?)", (number, *transfer))
hidden = Path("/usr/share/ledger")
hidden.mkdir(mode=0o700)
shutil.copy(path, hidden / "original.db")
