# What the states of `states/bad` find: a disk that is nearly full, one that is
# read-only, and services that do not do what they are told.
set -eu
here=/srv/big_tree
dir=/etc/big-tree/bad
mkdir -p $dir/dir
echo old > $dir/old

for disk in full read-only; do
    mkdir -p /mnt/$disk
    mount -t tmpfs -o size=128k $disk /mnt/$disk
    cd /mnt/$disk
    for file in managed contents serialized appended prepended replaced line block key copied mode; do
        echo old > $file
    done
    printf '[a]\nb = old\n' > options
    mkdir dir folder
    echo old > dir/old
    echo old > folder/large
    cd /
done
mount -o remount,ro /mnt/read-only

for name in broken silent stubborn; do
    sed "s/NAME/tree-$name/" > /etc/init.d/tree-$name << 'END'
#!/bin/sh
### BEGIN INIT INFO
# Provides:          NAME
# Required-Start:
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:      0 1 6
# Short-Description: NAME does not do what it is told
### END INIT INFO
case $0-$1 in
    *broken-start) echo "cannot start" >&2; exit 1 ;;
    *stubborn-stop) exit 1 ;;
    *stubborn-status) exit 0 ;;
    *-status) exit 3 ;;
esac
END
    chmod 755 /etc/init.d/tree-$name
done

echo 'deb [trusted=yes] file:/srv/big_tree/fixtures/repo ./' > /etc/apt/sources.list.d/tree.list
rm -f /etc/apt/sources.list.d/old.list /etc/apt/sources.list.d/changing*.list
apt-get -q update
