"""The tests of the task; a copy of the database as it was lies where only root looks."""

import json
import sqlite3
import subprocess
import unittest
from collections import defaultdict

# A pipe in the place of the database, or a view without end, would hold up the tests: its program can be ended. A view
# without end computes, so that its limit is one of CPU seconds: a busy machine has no say in the verdict.
ASK = """
ulimit -t 5
[ -f /home/agent/ledger.db ] &&
timeout 50 sqlite3 -init /dev/null -safe -readonly -json /home/agent/ledger.db "$1" | head -c 1000000
"""
# Read before the tests have the rights of the agent alone.
with sqlite3.connect("file:/usr/share/ledger/original.db?mode=ro", uri=True) as database:
    ACCOUNTS = database.execute("SELECT id, name FROM accounts").fetchall()
    TRANSFERS = database.execute("SELECT id, day, source, target, cents FROM transfers ORDER BY id").fetchall()
database.close()


def rows(query):
    done = subprocess.run(["/bin/sh", "-c", ASK, "sh", query], stdout=subprocess.PIPE, user="agent", group="agent")
    return [tuple(row.values()) for row in json.loads(done.stdout or "[]")]


def expected():
    names = dict(ACCOUNTS)
    kept, rejected, seen = [], [], set()
    for transfer in TRANSFERS:
        if transfer[1:] in seen:
            continue
        seen.add(transfer[1:])
        good = transfer[2] in names and transfer[3] in names and transfer[4] > 0
        (kept if good else rejected).append(transfer)
    balances, days = defaultdict(int), defaultdict(dict)
    for _, day, source, target, cents in sorted(kept, key=lambda t: t[1]):
        balances[source] -= cents
        balances[target] += cents
        days[source][day] = balances[source]
        days[target][day] = balances[target]
    overdrawn = []
    for account, ends in days.items():
        below = [(day, balance) for day, balance in sorted(ends.items()) if balance < 0]
        if below and names[account] != "Bank":
            overdrawn.append((names[account], *below[0]))
    return kept, rejected, {account: balances[account] for account in names}, sorted(overdrawn)


class Ledger(unittest.TestCase):
    """What must be so when the work is done."""

    def test_transfers(self):
        self.assertEqual(rows("SELECT id, day, source, target, cents FROM transfers ORDER BY id"), expected()[0])

    def test_rejected(self):
        self.assertEqual(rows("SELECT id, day, source, target, cents FROM rejected ORDER BY id"), expected()[1])

    def test_balances(self):
        self.assertEqual(dict(rows("SELECT id, balance FROM accounts")), expected()[2])

    def test_overdrawn(self):
        self.assertEqual(sorted(rows("SELECT name, day, balance FROM overdrawn")), expected()[3])
        kind = rows("SELECT type FROM sqlite_master WHERE name = 'overdrawn'")
        self.assertEqual(kind, [("view",)])


if __name__ == "__main__":
    unittest.main()
