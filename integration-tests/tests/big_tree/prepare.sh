# Makes every machine that the tree is applied to alike in what the tree looks
# at, and puts stand-ins where the real thing would reach beyond the root.
set -eu
here=/srv/big_tree

printf '127.0.0.1\tlocalhost\n127.0.1.1\tbig-tree\n' > /etc/hosts
rm -f /etc/resolv.conf
echo 'nameserver 127.0.0.1' > /etc/resolv.conf
echo big-tree > /etc/hostname

cp "$here"/stand-ins/* /usr/local/sbin/
chmod 755 /usr/local/sbin/*

# What states find and change.
dir=/etc/big-tree
mkdir -p $dir/edit
cd $dir
echo kept > kept
printf '# settings\nalpha = 1\nbeta = 2\ngamma = 3\n' > settings
for file in secret backed-up file-to-dir file-to-dir2 file-to-link file-to-link2 \
    file-to-hard unwanted copy-over copy-there to-rename to-rename-over \
    to-rename-deep rename-over; do
    echo "old $file" > $file
done
echo same > same
chmod 644 same
echo target > link-target
ln -s link-target link
ln -s link-target link-to-replace
ln -s /nowhere unwanted-link
ln -s /nowhere old-link
echo label > labelled
python3 -c "import os; os.setxattr('labelled', 'user.label', b'tree')" || true
echo hard > hard-one
ln hard-one hard-two
mkdir directory
for tree in tree tree2 tree3 unwanted-tree copy-tree; do
    mkdir -p $tree/sub/deep
    echo 1 > $tree/one
    echo 2 > $tree/sub/two
    echo 3 > $tree/sub/deep/three
    chmod 604 $tree/sub/two
    ln -s one $tree/to-one
done
mkdir cleaned cleaned/dir cleaned/dir.keep
touch cleaned/a cleaned/b.keep cleaned/dir/c cleaned/dir.keep/d
mkdir -p recursed/1 recursed/extra
echo other > recursed/1/file-1
touch recursed/surplus recursed/extra/file
mkdir -p tidy/empty-dir tidy-size
touch -d '2020-01-01' tidy/old.log tidy/old.txt
touch tidy/new.log
head -c 3000 /dev/zero > tidy-size/large
head -c 10 /dev/zero > tidy-size/small
mkdir backups
for day in 2019-03-04 2019-07-01 2020-01-01 2020-01-15 2020-02-01 2020-02-03 2020-02-04; do
    touch "backups/backup-$day.tar"
done
touch backups/unrelated
echo '{"there": true, "deep": {"one": 1}}' > merge.json
printf 'there: true\ndeep: {one: 1}\n' > merge.yaml
printf 'orig\n' > orig
chmod 640 orig
chown daemon:adm orig
touch -d '2020-02-02' orig
mkdir copy-into

cd edit
for file in append append-text append-source prepend prepend-header; do
    printf 'first line\nlast line\n' > $file
done
for file in replace replace-append replace-prepend replace-other; do
    printf 'alpha = 1\nbeta = 22\n#MaxSessions 5\n' > $file
done
echo 'apple a' > replace-once
echo 'secret secret' > replace-quiet
printf 'Yes\nno\nYES\n' > replace-case
for number in 1 2 3 4 5 6 7; do
    printf 'one\ntwo\nthree\n' > line-$number
done
for file in block block-append block-prepend block-after block-none block-gathered; do
    printf 'one\ntwo\nthree\n' > $file
done
printf 'before\n# START\nold\n# END\nafter\n' > block
for file in comment comment-char comment-none; do
    printf 'alpha = 1\nbeta = 2\n' > $file
done
for file in uncomment uncomment-none; do
    printf '#alpha = 1\n# beta = 2\n#  beta = 3\n' > $file
done
printf '# PermitRootLogin yes\nPort 22\nPort 23\n' > keyvalue
for file in keyvalue-one keyvalue-none keyvalue-case; do
    printf 'alpha=1\nbeta=2\n' > $file
done
printf 'one\ntwo\nthree\n' > patched
echo touched > touched
touch -d '2021-01-01' touched
cd /

# Accounts
groupadd -g 4815 tree-existing
groupadd -g 4816 tree-moved
groupadd -g 4817 tree-gone
useradd -u 4950 -m -s /bin/sh tree-old
useradd -u 4951 -m -d /home/mover tree-mover
useradd -u 4952 -m tree-leaver
touch /home/tree-leaver/something
install -d -m 700 -o tree-old -g tree-old /home/tree-old/.ssh
printf 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDgoneA old\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDstayA stay\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDbroken broken\n' \
    > /home/tree-old/.ssh/authorized_keys
key='ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl'
printf "old.example.com $key\nother.example.com $key\n" > $dir/old_known_hosts
crontab - << 'CRON'
# by hand
OLD_VARIABLE=1
1 1 * * * /usr/local/bin/old-job
# Lines below here are managed by Salt, do not edit
# SALT_CRON_IDENTIFIER:changing
5 * * * * /usr/local/bin/changed
# SALT_CRON_IDENTIFIER:gone-id
6 6 * * * /usr/local/bin/gone
CRON

# Packages: no repository but the tree's own.
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /var/lib/apt/lists/*
echo 'deb [trusted=yes] file:/srv/big_tree/fixtures/old-repo ./' > /etc/apt/sources.list.d/old.list
mkdir -p /opt
dpkg -i $here/fixtures/repo/big-tree-tool_2.0-1_all.deb \
    $here/fixtures/repo/big-tree-old_0.9_all.deb \
    $here/fixtures/repo/big-tree-gone_0.9_all.deb $here/fixtures/repo/big-tree-purged_0.9_all.deb

# Archives and source trees
rm -f ~/.gitconfig
git config --global user.name 'Big Tree'
git config --global user.email tree@example.com
mkdir -p $dir/extracted/app-1.0
echo old > $dir/extracted/app-1.0/README
echo old > $dir/extracted/surplus
mkdir -p /opt/code
git -c safe.directory='*' clone -q file://$here/fixtures/project.git /opt/code/behind
git -C /opt/code/behind reset -q --hard v1.0

# The system
mkdir -p /mnt/old
mount -t tmpfs old-tmpfs /mnt/old
printf 'old-tmpfs /mnt/old tmpfs defaults 0 0\n/dev/sdy1 /mnt/y1 ext4 defaults 0 0\n/dev/sdx1 /mnt/x1 ext4 noauto 0 0\n' > /etc/fstab
printf '192.0.2.99 old.example.com old\n192.0.2.20 two.example.com\n192.0.2.25 two.example.com\n192.0.2.30 wrong.example.com\n' >> /etc/hosts
mkdir -p /etc/sysctl.d
rm -f /etc/sysctl.d/* /etc/sysctl.conf
printf '; comment\n[main]\nalpha = 1\nbeta = 2\n[other]\nkey = 1\n' > $dir/options.ini
cp $dir/options.ini $dir/gone.ini
printf 'postmaster: root\nnobody-here: root\n' > /etc/aliases
echo Etc/UTC > /etc/timezone
ln -sf /usr/share/zoneinfo/Etc/UTC /etc/localtime

# The configuration lies where grains and schedules can be kept.
mkdir -p /srv/side
cp -r $here/conf /srv/side/conf
printf 'places: [one]\nold: 1\nnested: {keep: 1, drop: 2}\n' > /srv/side/conf/grains

# Services are init scripts here: systemd does not run in a root like this.
rm -f /usr/bin/systemctl /bin/systemctl

# What the variants of files find.
cd $dir
mkdir ignores replaces
for name in whitespace ordering comments 'all of it'; do
    printf '# other\nb = 2\na    =  1\n' > "ignores/$name"
done
for name in 'a group that is used' 'a dollar' nothing dots 'a look behind' 'a named group' \
    'several lines' 'a number as replacement' 'a backslash' 'bad expression'; do
    printf 'key=value\nother=thing\nab\n' > "replaces/$name"
done
for number in $(seq 0 119); do echo "line $number"; done > long
head -c 5000 $here/fixtures/blob.bin > binary
head -c 300 $here/fixtures/blob.bin > binary-to-text
printf 'no end' > no-end
ln -s /nowhere/at/all dangling-dir
ln -s /nowhere/at/all link-over
ln -s tree link-to-dir
for tree in children silent files-only dir-to-link dir-to-link2; do
    mkdir -p $tree/sub
    touch $tree/one $tree/sub/two
done
cd /

# What the variants of accounts find.
for group in changing losing primary; do groupadd tree-$group; done
number=5000
for user in renumbered numbered regrouped hashed-before hashed-before2 hashed-before3 \
    in-groups leaver2 leaver3 keys jobs file; do
    number=$((number + 1))
    useradd -u $number -m tree-$user
done
useradd -u 5100 -g tree-primary -M tree-holder
gpasswd -M daemon,tree-old tree-changing > /dev/null
gpasswd -M tree-mover,tree-old tree-losing > /dev/null
usermod -a -G tree-existing,adm tree-in-groups
for user in hashed-before hashed-before2 hashed-before3; do
    echo 'tree-'$user':$6$old$oldoldold' | chpasswd -e
done
touch /home/tree-renumbered/mine
install -d -m 700 -o tree-keys -g tree-keys /home/tree-keys/.ssh /home/tree-keys/keys
{
    echo "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJab$(printf 'abcdEFGH%.0s' 1 2 3 4 5) old"
    for one in 6 7; do
        echo "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC$one$(printf 'abcdEFGH%.0s' 1 2 3 4 5 6 7 8 9 10 11 12) old comment"
    done
} > /home/tree-keys/.ssh/authorized_keys
crontab -u tree-jobs - << 'CRON'
PATH=/bin
@weekly /usr/local/bin/weekly
# Lines below here are managed by Salt, do not edit
# SALT_CRON_IDENTIFIER:uncommented
#DISABLED#1 * * * * /usr/local/bin/uncommented
# SALT_CRON_IDENTIFIER:becomes-special
1 2 3 4 5 /usr/local/bin/special
CRON
echo '# old' | crontab -u tree-file -

# ... of packages
repo=$here/fixtures/repo
dpkg -i $repo/big-tree-newer_1.2_all.deb $repo/big-tree-four_1.0_all.deb $repo/big-tree-upgraded_1.0_all.deb \
    $repo/big-tree-held-before_1.0_all.deb $repo/big-tree-held-before2_1.0_all.deb \
    $repo/big-tree-versioned_1.0_all.deb $repo/big-tree-removed_1.0_all.deb \
    $repo/big-tree-purged2_1.0_all.deb
dpkg -r big-tree-removed
apt-mark hold big-tree-held-before big-tree-held-before2
echo 'deb http://changing.example.com/debian stable main' > /etc/apt/sources.list.d/changing.list
echo 'deb http://changing2.example.com/debian stable main' > /etc/apt/sources.list.d/changing2.list
echo '# deb http://disabled.example.com/debian stable main' > /etc/apt/sources.list.d/disabled.list

# ... of archives
mkdir -p $dir/unpacked/app-1.0 $dir/clean-before/app-1.0 $dir/clean-parent
echo old > $dir/unpacked/app-1.0/README
touch $dir/in-the-way $dir/in-the-way2 $dir/clean-before/surplus $dir/clean-before/app-1.0/old $dir/clean-parent/old

# ... and of the system
mkdir -p $dir/ini /mnt/unwanted
for name in numbers lists spaces replaced top colons strict remarks; do
    printf '# first\n[main]\nalpha = 1\n; remark\nbeta: 2\n\n[other]\nkey = 1\n' > $dir/ini/$name.ini
done
printf '198.51.100.60 only-one wrong\n198.51.100.7 cleaned.example.com\n198.51.100.8 cleaned.example.com\n' >> /etc/hosts
printf '# remark\nnet.ipv4.tcp_keepalive_time = 7200\nother = 1\n' > /etc/sysctl.d/there.conf
mount -t tmpfs unwanted /mnt/unwanted
printf 'unwanted\t/mnt/unwanted\ttmpfs\tdefaults\t0\t0\n' >> /etc/fstab

# ... of the arguments
. $here/prepare-arguments.sh
