#!/bin/bash
set -e
cd ~
sqlite3 ledger.db <<'END'
DELETE FROM transfers WHERE id NOT IN (SELECT MIN(id) FROM transfers GROUP BY day, source, target, cents);
CREATE TABLE rejected AS SELECT * FROM transfers WHERE cents <= 0
  OR source NOT IN (SELECT id FROM accounts) OR target NOT IN (SELECT id FROM accounts);
DELETE FROM transfers WHERE id IN (SELECT id FROM rejected);
UPDATE accounts SET balance =
  COALESCE((SELECT SUM(cents) FROM transfers WHERE target = accounts.id), 0)
  - COALESCE((SELECT SUM(cents) FROM transfers WHERE source = accounts.id), 0);
CREATE VIEW overdrawn AS
WITH moves AS (
  SELECT source AS account, day, -cents AS change FROM transfers UNION ALL SELECT target, day, cents FROM transfers
), days AS (
  SELECT account, day, SUM(SUM(change)) OVER (PARTITION BY account ORDER BY day) AS balance FROM moves GROUP BY account, day
), firsts AS (
  SELECT account, MIN(day) AS day FROM days WHERE balance < 0 GROUP BY account
)
SELECT accounts.name AS name, firsts.day AS day, days.balance AS balance
FROM firsts JOIN days USING (account, day) JOIN accounts ON accounts.id = account WHERE accounts.name <> 'Bank';
END
