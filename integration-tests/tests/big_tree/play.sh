# Runs in the throw-away root: prepares the machine, then applies the tree four
# times. For each time there are the results, what was said besides, and the
# exit code.
#
#   play.sh SALT-CALL
set -eu
program=$1
here=/srv/big_tree out=/srv/out
cd /
umask 022

sh "$here/prepare.sh" || { echo "the root could not be prepared" >&2; exit 1; }

call() {
    name=$1
    shift
    code=0
    timeout 300 "$program" --local -c /srv/side/conf --out=json --log-level=quiet \
        --retcode-passthrough --no-color "$@" \
        < /dev/null > "$out/$name.json" 2> "$out/$name.err" || code=$?
    echo "$code" > "$out/$name.code"
}

call predicted state.apply test=True
call first state.apply
call second state.apply
call settled state.apply test=True

# What is not in files.
grep ' /mnt/' /proc/self/mounts | sed 's/,inode64//; s/lowerdir=[^ ]*/.../' > "$out/mounts" || true
sysctl -a 2> /dev/null | grep '^net\.ipv4\.\(conf\.lo\|ip_\|tcp_\)' > "$out/sysctls" || true
