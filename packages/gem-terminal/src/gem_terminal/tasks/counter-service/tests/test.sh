#!/bin/bash
# The reward is the share of the tests that pass; ctrf.json names them. Isolated (-I) and away from the agent's folders,
# Python imports nothing that an agent has planted; and what the tests run as the agent cannot read the tests.
chmod 700 /tests && cd / && exec /usr/bin/python3 -I - <<'END'
import json
import os
import pwd
import unittest


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = set()

    def addSuccess(self, test):
        self.passed.add(test.id())


def cases(suite):
    for test in suite:
        yield from cases(test) if isinstance(test, unittest.TestSuite) else [test]


suite = unittest.defaultTestLoader.discover("/tests")
names = sorted(test.id() for test in cases(suite))
result = Result()
# The tests have the agent's rights, and so cannot be led by its links to what is not its own. The real user stays root:
# no program of the agent can end this process or look into it.
agent = pwd.getpwnam("agent")
os.setgroups([])
os.setegid(agent.pw_gid)
os.seteuid(agent.pw_uid)
suite.run(result)
os.seteuid(0)
os.setegid(0)
tests = [{"name": name, "status": "passed" if name in result.passed else "failed", "duration": 0} for name in names]
passed = len(result.passed)
summary = {"tests": len(names), "passed": passed, "failed": len(names) - passed, "pending": 0, "skipped": 0, "other": 0}
report = {"results": {"tool": {"name": "unittest"}, "summary": {**summary, "start": 0, "stop": 0}, "tests": tests}}
for test in tests:
    print(test["status"], test["name"])
for test, why in [*result.errors, *result.failures]:
    print(f"\n{test.id()}\n{why}")
with open("/logs/verifier/ctrf.json", "w") as file:
    json.dump(report, file)
with open("/logs/verifier/reward.txt", "w") as file:
    print(passed / len(names) if names else 0.0, file=file)
END
