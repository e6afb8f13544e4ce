#!/bin/bash
set -e
cat > ~/backup.sh <<'END'
#!/bin/bash
set -euo pipefail
source=$1 target=$2 stamp=${STAMP:-$(date +%F)}
if [ ! -d "$source" ]; then
  echo "no such folder: $source" >&2
  exit 2
fi
ignored=()
if [ -f "$source/.backupignore" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    [[ -z $line || $line == '#'* ]] || ignored+=("$line")
  done < "$source/.backupignore"
fi
mkdir -p -- "$target"
target=$(cd -- "$target" && pwd)
mkdir -p -- "$target/$stamp"
cd -- "$source"
count=0
while IFS= read -r -d '' file; do
  for pattern in ${ignored[@]+"${ignored[@]}"}; do
    [[ ${file##*/} == $pattern && ${file##*/} != .backupignore ]] && continue 2
  done
  mkdir -p -- "$target/$stamp/$(dirname -- "$file")"
  cp -p -- "$file" "$target/$stamp/$file"
  count=$((count + 1))
done < <(find . -type f -print0)
echo "$count files"
cd -- "$target"
ls -1 | sort -r | tail -n +4 | while IFS= read -r old; do rm -rf -- "$old"; done
END
