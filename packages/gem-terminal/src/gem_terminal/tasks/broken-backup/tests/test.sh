#!/bin/bash
# The reward is the share of the tests that pass.
python3 -m unittest discover -v -s /tests > /logs/verifier/tests.txt 2>&1
passed=$(grep -cE ' \.\.\. ok$' /logs/verifier/tests.txt)
total=$(grep -cE ' \.\.\. (ok|FAIL|ERROR)$' /logs/verifier/tests.txt)
python3 -c "print($passed / $total if $total else 0.0)" > /logs/verifier/reward.txt
cat /logs/verifier/tests.txt
