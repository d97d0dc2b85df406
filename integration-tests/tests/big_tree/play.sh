# Runs in the throw-away root: prepares the machine, then applies the tree four
# times. For each time there are the results, what was said besides, and the
# exit code.
#
#   play.sh SALT-CALL all|bad
#
# `all` is what the top says; `bad` are states of which none can be done.
set -eu
program=$1 what=$2
here=/srv/big_tree out=/srv/out
cd /
umask 022

# Copies that a state was told to make are left out.
disks() {
    cd /mnt
    find full read-only ! -name '*.bak' -printf '%y %m %u %p %l\n' | sort
    find full read-only -type f ! -name '*.bak' -exec md5sum {} + | sort -k 2
    cd /
}

sh "$here/prepare.sh" || { echo "the root could not be prepared" >&2; exit 1; }
sls=
if [ "$what" = bad ]; then
    sh "$here/prepare-bad.sh" || { echo "nothing bad could be prepared" >&2; exit 1; }
    sls=bad
    disks > "$out/disks-before"
fi

call() {
    name=$1
    shift
    code=0
    timeout 300 "$program" --local -c /srv/side/conf --out=json --log-level=quiet \
        --retcode-passthrough --no-color "$@" \
        < /dev/null > "$out/$name.json" 2> "$out/$name.err" || code=$?
    echo "$code" > "$out/$name.code"
}

call predicted state.apply $sls test=True
call first state.apply $sls
call second state.apply $sls
call settled state.apply $sls test=True

# What is not in files, or not in those of the root.
if [ "$what" = bad ]; then disks > "$out/disks"; fi
grep ' /mnt/' /proc/self/mounts | sed 's/,inode64//; s/lowerdir=[^ ]*/.../' > "$out/mounts" || true
sysctl -a 2> /dev/null | grep '^net\.ipv4\.\(conf\.lo\|ip_\|tcp_\)' > "$out/sysctls" || true
