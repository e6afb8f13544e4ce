#!/bin/bash
set -e
cd ~
python3 - <<'END'
from collections import defaultdict

prices = defaultdict(list)
for line in open("prices.tsv").read().splitlines()[1:]:
    product, cents, since = line.split("\t")
    prices[product].append((since, int(cents)))
for known in prices.values():
    known.sort()
revenue, rejected = defaultdict(int), []
for line in open("sales.csv").read().splitlines()[1:]:
    fields = line.split(",")
    price = None
    if len(fields) == 5 and fields[4].isdigit() and int(fields[4]) > 0:
        for since, cents in prices[fields[3]]:
            if since <= fields[1]:
                price = cents
    if price is None:
        rejected.append(fields[0])
    else:
        revenue[fields[1][:7], fields[2]] += price * int(fields[4])
with open("report.csv", "w") as out:
    out.write("month,shop,revenue\n")
    for (month, shop), cents in sorted(revenue.items()):
        out.write(f"{month},{shop},{cents}\n")
open("rejected.txt", "w").write("\n".join(rejected) + "\n")
END
