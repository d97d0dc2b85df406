# Runs a program in a root that is thrown away: the file system of this machine below,
# what is written in memory above it. Whoever calls this has made namespaces for
# mounts, processes, the network, the host name and IPC.
#
#   root.sh BASE DIRECTORY-OF-PROGRAM PROGRAM [ARGUMENT ...]
set -eu
base=$1 dir=$2
shift 2
mount -t tmpfs -o mode=755 none "$base"
mkdir "$base/upper" "$base/work" "$base/root"
root=$base/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$root"
for part in tmp run dev mnt var/cache/salt; do
    mkdir -p "$root/$part"
    mount -t tmpfs -o mode=755 none "$root/$part"
done
chmod 1777 "$root/tmp"
mkdir "$root/run/lock" "$root/dev/shm"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/zero" c 1 5
mknod -m 666 "$root/dev/urandom" c 1 9
mknod -m 666 "$root/dev/random" c 1 8
mount -t proc -o ro proc "$root/proc"
mkdir -p "$root$dir"
mount --bind "$dir" "$root$dir"
mount -o remount,bind,ro "$root$dir"
hostname example
ip link set lo up
# Not even the superuser loads modules, sets clocks or restarts machines here.
exec setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-sys_rawio,-syslog,-mknod \
    chroot "$root" "$@"
