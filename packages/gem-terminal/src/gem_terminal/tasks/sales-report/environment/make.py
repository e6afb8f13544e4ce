"""Makes the two tables."""

import hashlib
import random
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
digest = hashlib.sha256((home / "sales.csv").read_bytes() + (home / "prices.tsv").read_bytes()).hexdigest()
Path("/usr/share/sales.digest").write_text(digest)
