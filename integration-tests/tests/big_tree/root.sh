# Plays the tree in a root that is thrown away: the file system of this machine
# below, everything that is written in memory above it. Whoever calls this has
# made namespaces for mounts, processes, the network, the host name and IPC:
# nothing of this machine can be reached, changed or ended from here.
#
#   root.sh TREE OUT SALT-CALL WHAT [DIRECTORY of programs...]
#
# TREE is laid over /srv/big_tree. OUT gets the answers of `play.sh` and, in
# `layer`, what was written. WHAT is `all` or `bad`.
set -eu
tree=$1 out=$2 program=$3 what=$4
shift 4

base=$out/mnt
mkdir "$base"
mount -t tmpfs -o mode=755 none "$base"
mkdir "$base/upper" "$base/work" "$base/root"
root=$base/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$root"

# Sockets of running daemons and temporary files of others stay out.
for dir in tmp run dev mnt; do
    mkdir -p "$root/$dir"
    mount -t tmpfs -o mode=755 none "$root/$dir"
done
chmod 1777 "$root/tmp"
mkdir "$root/run/lock" "$root/dev/shm" "$root/dev/pts"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/zero" c 1 5
mknod -m 666 "$root/dev/full" c 1 7
mknod -m 666 "$root/dev/random" c 1 8
mknod -m 666 "$root/dev/urandom" c 1 9
mknod -m 666 "$root/dev/tty" c 5 0
ln -s /proc/self/fd "$root/dev/fd"

# Of the kernel's settings only those of the private network can be written.
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"

for dir in "$@"; do
    mkdir -p "$root$dir"
    mount --bind "$dir" "$root$dir"
    mount -o remount,bind,ro "$root$dir"
done
mkdir -p "$root/srv/big_tree" "$root/srv/out"
mount --bind "$tree" "$root/srv/big_tree"
mount -o remount,bind,ro "$root/srv/big_tree"
mkdir "$out/answers"
mount --bind "$out/answers" "$root/srv/out"

hostname big-tree
ip link set lo up
# Not even the superuser loads modules, sets clocks or restarts machines here.
setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-sys_rawio,-syslog \
    chroot "$root" /usr/bin/env -i \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root LANG=C.UTF-8 \
    /bin/sh /srv/big_tree/play.sh "$program" "$what"
cp -a "$base/upper" "$out/layer"
