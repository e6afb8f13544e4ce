#!/bin/bash
set -e
cd ~/project
git config user.name Agent; git config user.email agent@example.org
lost=$(git reflog --format='%H %gs' main | awk '/Raise the timeout/ {print $1; exit}')
git reset -q --hard "$lost"
feature=$(git fsck --no-reflogs --lost-found 2>/dev/null | awk '{print $3}' | while read -r id; do
  [ "$(git log -1 --format=%s "$id")" = 'Retry three times' ] && echo "$id"; done | head -1)
git branch feature "$feature"
git merge -q feature -m 'Merge feature' || true
printf '[net]\ntimeout = 60\nretries = 3\n' > config.ini
git add config.ini
git commit -q -m 'Merge feature'
