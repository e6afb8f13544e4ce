set -e
mkdir -p /home/agent/site/pages/deep /home/agent/site/bin /home/agent/site/uploads /home/agent/site/private/keys
cd /home/agent/site
echo secret > ../outside.txt && chmod 640 ../outside.txt
ln -s ../outside.txt link
for f in index.html 'pages/a b.html' pages/deep/c.html bin/README uploads/photo.jpg private/key.pem private/keys/more.pem; do
  echo text > "$f" && chmod 666 "$f"
done
: > empty && chmod 777 empty
for f in bin/deploy bin/clean.sh pages/tool.py private/rotate.sh; do
  printf '#!/bin/sh\necho run\n' > "$f" && chmod 640 "$f"
done
chmod 777 pages pages/deep bin . && chmod 700 uploads && chmod 755 private private/keys
