"""Makes the two tables, and copies for the tests."""

import random
import shutil
from pathlib import Path

rng = random.Random("sales")
products = ["apple", "bread", "cheese", "dates", "eggs", "flour"]
shops = ["Oslo", "Lima", "Kyiv", "New York"]
prices = [(p, str(rng.randint(50, 900)), "2025-01-01") for p in products[:-1]]
prices += [(p, str(rng.randint(50, 900)), f"2025-0{rng.randint(2, 5)}-{rng.randint(10, 28)}") for p in products]
rng.shuffle(prices)
lines = []
for number in range(1, 1501):
    fields = [str(number), f"2025-{rng.randint(1, 6):02}-{rng.randint(1, 28):02}", rng.choice(shops), rng.choice(products), str(rng.randint(1, 40))]
    if rng.random() < 0.02:
        damage = rng.randrange(5)
        if damage == 0:
            fields = fields[:-1]
        elif damage == 1:
            fields.append("?")
        else:
            fields[4] = ["0", "-3", "two"][damage - 2]
    lines.append(",".join(fields))
home = Path("/home/agent")
(home / "sales.csv").write_text("id,date,shop,product,quantity\n" + "\n".join(lines) + "\n")
(home / "prices.tsv").write_text("product\tprice\tvalid from\n" + "".join("\t".join(p) + "\n" for p in prices))
hidden = Path("/usr/share/sales-report")
hidden.mkdir(mode=0o700)
for name in ("sales.csv", "prices.tsv"):
    shutil.copy(home / name, hidden / name)
