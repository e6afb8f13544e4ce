set -e
mkdir /home/agent/project
cd /home/agent/project
git init -q -b main
git config user.name Maria
git config user.email maria@example.org
export GIT_AUTHOR_DATE='2025-01-01T00:00:00Z' GIT_COMMITTER_DATE='2025-01-01T00:00:00Z'
printf '[net]\ntimeout = 10\n' > config.ini
git add . && git commit -q -m 'Begin'
echo 'print("hello")' > main.py
git add . && git commit -q -m 'Say hello'
git checkout -q -b feature
printf '[net]\ntimeout = 10\nretries = 3\n' > config.ini
git commit -q -a -m 'Retry three times'
git checkout -q main
echo 'def parse(text): return text.split()' > parser.py
git add . && git commit -q -m 'Add a parser'
printf '[net]\ntimeout = 60\n' > config.ini
git commit -q -a -m 'Raise the timeout'
mkdir -m 700 /usr/share/git-rescue
git rev-parse main feature > /usr/share/git-rescue/lost
git reset -q --hard HEAD~2
git branch -q -D feature
