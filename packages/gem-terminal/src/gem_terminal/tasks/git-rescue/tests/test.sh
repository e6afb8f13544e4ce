#!/bin/bash
# The reward is the share of the tests that pass.
python3 -m unittest discover -v -s /tests 2>&1 | sed 's/ in [0-9.]*s$//' > /logs/verifier/tests.txt
passed=$(grep -cE ' \.\.\. ok$' /logs/verifier/tests.txt)
total=$(grep -cE ' \.\.\. (ok|FAIL|ERROR)$' /logs/verifier/tests.txt)
python3 -c "print($passed / $total if $total else 0.0)" > /logs/verifier/reward.txt
cat /logs/verifier/tests.txt
