"""The tests of the task; they work the figures out again, from copies of the tables that only root reads."""

import csv
import os
import stat
import unittest
from collections import defaultdict
from pathlib import Path

HOME = Path("/home/agent")
# Read before the tests have the rights of the agent alone.
SALES, PRICES = (Path("/usr/share/sales-report", name).read_text() for name in ("sales.csv", "prices.tsv"))

def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


def expected():
    prices = defaultdict(list)
    for line in PRICES.splitlines()[1:]:
        product, cents, since = line.split("\t")
        prices[product].append((since, int(cents)))
    revenue, rejected = defaultdict(int), []
    for line in SALES.splitlines()[1:]:
        fields = line.split(",")
        cents = None
        if len(fields) == 5 and fields[4].isascii() and fields[4].isdigit() and int(fields[4]):
            cents = max(((since, c) for since, c in prices[fields[3]] if since <= fields[1]), default=(None, None))[1]
        if cents is None:
            rejected.append(fields[0])
        else:
            revenue[fields[1][:7], fields[2]] += cents * int(fields[4])
    return [[*key, str(value)] for key, value in sorted(revenue.items())], rejected


class Report(unittest.TestCase):
    """What must be so when the work is done."""

    def test_the_report_is_right(self):
        heading, *rows = csv.reader(read(HOME / "report.csv").decode().splitlines())
        self.assertEqual(heading, ["month", "shop", "revenue"])
        self.assertEqual(rows, expected()[0])

    def test_damaged_lines_are_listed(self):
        self.assertEqual(read(HOME / "rejected.txt").decode().split(), expected()[1])


if __name__ == "__main__":
    unittest.main()
