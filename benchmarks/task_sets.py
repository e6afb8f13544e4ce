"""What loading folders of tasks costs: ``python benchmarks/task_sets.py FOLDER...``.

Each folder is loaded as it is: tasks, skipped tasks by reason, CPU seconds of the first and of a second load, and CPU
seconds of eight environments in a fresh process that knows nothing yet.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter

from gem_terminal.task_set import load_task_set

EIGHT = """
import sys, time, warnings
import gem
from gem_terminal import TerminalEnv
warnings.simplefilter("ignore")  # the tasks that are skipped are counted above
begin = time.process_time()
gem.make_vec("terminal:Folder-v0", path=sys.argv[1], num_envs=8, mode="thread").close()
print(time.process_time() - begin)
"""


def main() -> None:
    """Print one row a folder."""
    print(
        "| folder | tasks | skipped | CPU s, first | CPU s, again | CPU s, 8 environments |\n|---|---|---|---|---|---|"
    )
    for folder in sys.argv[1:]:
        seconds = []
        for _ in range(2):
            begin = time.process_time()
            found = load_task_set(folder)
            seconds.append(time.process_time() - begin)
        reasons = Counter(one.need or "malformed" for one in found.skipped)
        skipped = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "0"
        row = [found.folder.name, f"{len(found.tasks):,}", skipped, f"{seconds[0]:.2f}", f"{seconds[1]:.3f}"]
        if found.tasks:
            done = subprocess.run([sys.executable, "-c", EIGHT, folder], capture_output=True, text=True, check=True)
            row.append(f"{float(done.stdout):.2f}")
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
