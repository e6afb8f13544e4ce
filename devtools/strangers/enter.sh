#!/bin/sh
# Become the first process of a machine whose root file system is an overlay, and run one command there.
#
# devtools.strangers.machine runs this below `unshare --mount --pid --fork --ipc --uts`, in the folder of all layers:
#   enter.sh LAYERS FOLDER ACCOUNT DIRECTORY COMMAND...
# LAYERS are the read-only folders below, topmost first, with colons between them. FOLDER receives what changes, and its
# file `mounts` says what of this machine is seen inside: lines of "ro" or "rw", the path here and the path inside, with
# tabs between them.
set -eu

layers=$1 folder=$2 account=$3 directory=$4
shift 4
root=$folder/root
mkdir -p "$folder/upper" "$folder/work" "$root"
mount -t overlay -o "lowerdir=$layers,upperdir=$folder/upper,workdir=$folder/work" overlay "$root"

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
# The devices are this machine's, as a user has them; terminals and shared memory are its own.
mount --bind /dev "$root/dev"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mkdir -m 1777 "$root/run/lock"

tab=$(printf '\t')
while IFS=$tab read -r mode source target; do
  mkdir -p "$(dirname "$root$target")"
  if [ -d "$source" ]; then mkdir -p "$root$target"; else [ -e "$root$target" ] || : >"$root$target"; fi
  mount --bind "$source" "$root$target"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$root$target"
done <"$folder/mounts"

hostname stranger
# A program in a folder that chroot made its root could not make user namespaces.
cd "$root"
pivot_root . .
umount -l .
# Bash takes care of the processes whose parents end, as the first process of a machine must.
exec /bin/bash -c 'cd "$2" || exit 125
  setpriv --reuid "$1" --regid "$1" --init-groups --reset-env -- env "${@:3}" <&0 &
  wait $!' init "$account" "$directory" "$@"
