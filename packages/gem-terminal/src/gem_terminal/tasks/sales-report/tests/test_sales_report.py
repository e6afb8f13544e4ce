"""The tests of the task; they work the figures out again from the files, which must not have changed."""

import csv
import hashlib
import unittest
from collections import defaultdict
from pathlib import Path

HOME = Path("/home/agent")


def expected():
    prices = defaultdict(list)
    for line in (HOME / "prices.tsv").read_text().splitlines()[1:]:
        product, cents, since = line.split("\t")
        prices[product].append((since, int(cents)))
    revenue, rejected = defaultdict(int), []
    for line in (HOME / "sales.csv").read_text().splitlines()[1:]:
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

    def setUp(self):
        digest = hashlib.sha256((HOME / "sales.csv").read_bytes() + (HOME / "prices.tsv").read_bytes()).hexdigest()
        self.assertEqual(digest[:8], (Path("/usr/share/sales.digest")).read_text()[:8], "the tables were changed")

    def test_the_report_is_right(self):
        with (HOME / "report.csv").open(newline="") as file:
            heading, *rows = list(csv.reader(file))
        self.assertEqual(heading, ["month", "shop", "revenue"])
        self.assertEqual(rows, expected()[0])

    def test_damaged_lines_are_listed(self):
        self.assertEqual((HOME / "rejected.txt").read_text().split(), expected()[1])


if __name__ == "__main__":
    unittest.main()
