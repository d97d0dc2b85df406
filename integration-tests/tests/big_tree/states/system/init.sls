# Settings of the system.
a mount:
  mount.mounted:
    - name: /mnt/tree
    - device: tmpfs
    - fstype: tmpfs
    - opts: [size=1m, mode=755]
    - mkmnt: true

a bind mount:
  mount.mounted:
    - name: /mnt/bound
    - device: /opt/managed
    - fstype: none
    - opts: bind
    - mkmnt: true
    - require: [{file: /opt/managed}]

a mount that is not kept:
  mount.mounted:
    - name: /mnt/temporary
    - device: tmpfs
    - fstype: tmpfs
    - mkmnt: true
    - persist: false

a mount for later:
  mount.mounted:
    - name: /mnt/later
    - device: /dev/sdz9
    - fstype: ext4
    - opts: noauto,ro
    - dump: 1
    - pass_num: 2
    - mkmnt: true
    - mount: false

a mount without a directory:
  mount.mounted:
    - name: /mnt/nowhere
    - device: tmpfs
    - fstype: tmpfs

not mounted any more:
  mount.unmounted:
    - name: /mnt/old
    - device: old-tmpfs
    - persist: true

never mounted:
  mount.unmounted:
    - name: /mnt/never

in fstab:
  mount.fstab_present:
    - name: /dev/sdz1
    - fs_file: /mnt/z1
    - fs_vfstype: ext4
    - fs_mntops: noauto,noatime
    - fs_freq: 0
    - fs_passno: 2

in fstab, changed:
  mount.fstab_present:
    - name: /dev/sdy1
    - fs_file: /mnt/y1
    - fs_vfstype: ext4
    - fs_mntops: noauto

not in fstab:
  mount.fstab_absent:
    - name: /dev/sdx1
    - fs_file: /mnt/x1

a setting of the kernel:
  sysctl.present:
    - name: net.ipv4.ip_forward
    - value: 1
    - config: /etc/sysctl.d/90-tree.conf

a setting that changes:
  sysctl.present:
    - name: net.ipv4.conf.lo.rp_filter
    - value: 2
    - config: /etc/sysctl.d/90-tree.conf
    - require: [{sysctl: a setting of the kernel}]

a setting of several values:
  sysctl.present:
    - name: net.ipv4.ip_local_port_range
    - value: 20000 60000

a setting that is not there:
  sysctl.present:
    - name: net.ipv4.no_such_thing
    - value: 1

a host:
  host.present:
    - ip: 192.0.2.10
    - names: [one.example.com, one]

a host with addresses:
  host.present:
    - name: two.example.com
    - ip: [192.0.2.20, 192.0.2.21]
    - clean: true

hosts of an address:
  host.only:
    - name: 192.0.2.30
    - hostnames: [three.example.com, three]

a host that is gone:
  host.absent:
    - name: old.example.com
    - ip: 192.0.2.99

options:
  ini.options_present:
    - name: /etc/big-tree/options.ini
    - separator: '='
    - sections:
        main:
          alpha: 10
          new: yes please
        added:
          key: value
        top: 1

options that are gone:
  ini.options_absent:
    - name: /etc/big-tree/gone.ini
    - sections:
        main: [alpha, nothing]

sections that are gone:
  ini.sections_absent:
    - name: /etc/big-tree/gone.ini
    - sections: [other]
    - require: [{ini: options that are gone}]

options of a new file:
  ini.options_present:
    - name: /etc/big-tree/new.ini
    - strict: true
    - sections:
        main: {alpha: 1}

a locale:
  locale.present:
    - name: C.UTF-8

the locale of the system:
  locale.system:
    - name: C.UTF-8

a variable:
  environ.setenv:
    - name: BIG_TREE
    - value: set

variables:
  environ.setenv:
    - name: whatever
    - value: {BIG_TREE_ONE: '1', BIG_TREE_TWO: '2'}

seen by commands:
  cmd.run:
    - name: echo "$BIG_TREE $BIG_TREE_ONE" > /opt/environment
    - creates: /opt/environment
    - require: [{environ: a variable}, {environ: variables}]

a grain:
  grains.present:
    - name: tree:role
    - value: web

a list of grains:
  grains.list_present:
    - name: roles
    - value: [one, two]

grains appended:
  grains.append:
    - name: places
    - value: three
    - convert: true

a grain that is gone:
  grains.absent:
    - name: no:such:grain

an alias:
  alias.present:
    - name: postmaster
    - target: root, alice

an alias that is gone:
  alias.absent:
    - name: nobody-here

the time zone:
  timezone.system:
    - name: Europe/Berlin
    - utc: true
