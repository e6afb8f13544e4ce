#!/bin/sh
# Make a backup of a folder.
set -e
STAMP=$(date +%d-%m-%Y)
cd $1
mkdir $2/$STAMP
count=0
for file in $(find . -type f | grep -v -f .backupignore); do
  cp $file $2/$STAMP/$file
  count=$count+1
done
echo $count files
cd $2
rm -rf $(ls -t | tail -3)
