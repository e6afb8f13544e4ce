#!/bin/bash
set -e
cd ~/site
find . -type d -exec chmod 755 {} +
find . -type f -exec chmod 644 {} +
find . -type f -exec sh -c 'for f; do [ "$(head -c 2 "$f")" = "#!" ] && chmod 755 "$f"; done; true' sh {} +
chmod 3777 uploads
find private -type d -exec chmod 700 {} +
find private -type f -exec chmod 600 {} +
