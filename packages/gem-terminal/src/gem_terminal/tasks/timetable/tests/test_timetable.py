"""The tests of the task: the lines are expanded over a whole year and compared, minute by minute."""

import os
import stat
import unittest
from datetime import datetime, timedelta

LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
WANTED = {
    "backup": lambda t: (t.hour, t.minute) == (2, 30),
    "report": lambda t: t.isoweekday() <= 5 and 9 <= t.hour <= 17 and t.minute in (0, 30),
    "rotate": lambda t: (t.day, t.hour, t.minute) == (1, 0, 0) and t.month in (1, 4, 7, 10),
    "ping": lambda t: t.minute % 7 == 0,
    "digest": lambda t: t.isoweekday() >= 6 and t.hour in (8, 20) and t.minute == 15,
    "cleanup": lambda t: (t.hour, t.minute) == (23, 59) and t.day in (10, 20, 30) and 5 <= t.month <= 9,
}


def read(path, most=1 << 20):
    """Return a file of the agent's; a pipe, a device or what has no end would hold up the tests, and is an error."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path} has more than {most} bytes")
    return content


def values(field, low, high):
    found = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        last = last or (str(high) if step else first)
        if not low <= int(first) <= int(last) <= high:
            raise ValueError(item)
        found.update(range(int(first), int(last) + 1, int(step or 1)))
    return found


def jobs():
    found = {}
    for line in read("/home/agent/timetable.cron").decode().splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            *fields, command = line.strip().split(None, 5)
            if command in found:
                raise ValueError(f"{command} twice")
            found[command] = fields
    return found


def runs(fields):
    """Yield every minute of the year with whether the job runs then."""
    minutes, hours, days, months, weekdays = (values(f, *limit) for f, limit in zip(fields, LIMITS, strict=True))
    weekdays = {day % 7 for day in weekdays}
    for number in range(366):
        day = datetime(2024, 1, 1) + timedelta(days=number)
        by_day, by_week = day.day in days, day.isoweekday() % 7 in weekdays
        # crontab(5): if both are restricted, either is enough.
        today = by_day or by_week if fields[2][0] != "*" and fields[4][0] != "*" else by_day and by_week
        today = today and day.month in months
        for hour in range(24):
            for minute in range(60):
                yield day.replace(hour=hour, minute=minute), today and hour in hours and minute in minutes


class Timetable(unittest.TestCase):
    """What must be so when the work is done."""

    def check(self, name):
        wrong = [moment for moment, it_runs in runs(jobs()[name]) if it_runs != WANTED[name](moment)]
        self.assertEqual(wrong[:3], [])

    def test_backup(self):
        self.check("backup")

    def test_report(self):
        self.check("report")

    def test_rotate(self):
        self.check("rotate")

    def test_ping(self):
        self.check("ping")

    def test_digest(self):
        self.check("digest")

    def test_cleanup(self):
        self.check("cleanup")

    def test_nothing_else(self):
        self.assertEqual(set(jobs()), set(WANTED))


if __name__ == "__main__":
    unittest.main()
