"""The tests of the task; a copy of the database as it was lies where only root looks."""

import sqlite3
import unittest
from collections import defaultdict


def rows(path, query):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return database.execute(query).fetchall()


WAS = "/usr/share/ledger/original.db"
IS = "/home/agent/ledger.db"


def expected():
    names = dict(rows(WAS, "SELECT id, name FROM accounts"))
    kept, rejected, seen = [], [], set()
    for transfer in rows(WAS, "SELECT id, day, source, target, cents FROM transfers ORDER BY id"):
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
        self.assertEqual(rows(IS, "SELECT id, day, source, target, cents FROM transfers ORDER BY id"), expected()[0])

    def test_rejected(self):
        self.assertEqual(rows(IS, "SELECT id, day, source, target, cents FROM rejected ORDER BY id"), expected()[1])

    def test_balances(self):
        self.assertEqual(dict(rows(IS, "SELECT id, balance FROM accounts")), expected()[2])

    def test_overdrawn(self):
        self.assertEqual(sorted(rows(IS, "SELECT name, day, balance FROM overdrawn")), expected()[3])
        kind = rows(IS, "SELECT type FROM sqlite_master WHERE name = 'overdrawn'")
        self.assertEqual(kind, [("view",)])


if __name__ == "__main__":
    unittest.main()
