# Calls a salt-call for each case, in a root that is thrown away: writes stay in
# memory, and there is no network but the loopback.
#
#   sandbox.sh WORK OUT SALT-CALL [DIRECTORY of programs...]
#
# WORK holds a directory per case with its `conf`; OUT gets what comes of it.
set -eu
work=$1 out=$2 program=$3
shift 3
base=$(mktemp -d)
mount -t tmpfs none "$base"
mkdir "$base/upper" "$base/work" "$base/root"
root=$base/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
for dir in "$@"; do
    mkdir -p "$root$dir"
    mount --rbind "$dir" "$root$dir"
done
mkdir -p "$root$work" "$root$out"
mount -t tmpfs none "$root$work"
cp -a "$work/." "$root$work"
mount --bind "$out" "$root$out"
rm -f "$root/etc/resolv.conf" "$root/etc/hosts"
printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' > "$root/etc/resolv.conf"
printf '127.0.0.1 localhost %s\n' "$(uname -n)" > "$root/etc/hosts"
ip link set lo up 2> /dev/null || true
exec chroot "$root" /bin/sh -c '
work=$1 out=$2 program=$3
cd /
call() {
    key=$1
    shift
    timeout 300 "$program" --local -c "$work/$case/conf" --out=json --log-level=quiet \
        --retcode-passthrough --no-color "$@" \
        < /dev/null > "$out/$case.$key.json" 2> "$out/$case.$key.err"
    echo $? > "$out/$case.$key.code"
}
for dir in "$work"/*/; do
    case=$(basename "$dir")
    call pillar pillar.items unmask=True
    call top state.show_top
    call high state.show_highstate
    call low state.show_lowstate
    call test state.apply test=True
done
' sh "$work" "$out" "$program"
