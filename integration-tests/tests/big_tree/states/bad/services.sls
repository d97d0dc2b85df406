# Services that do not start, packages that nobody has.
broken:
  service.running:
    - name: tree-broken
broken and enabled:
  service.running:
    - name: tree-broken
    - enable: true
never up:
  service.running:
    - name: tree-silent
    - init_delay: 1
stays up:
  service.dead:
    - name: tree-stubborn
no service:
  service.running:
    - name: tree-nothing
no service to enable:
  service.enabled:
    - name: tree-nothing
no service to disable:
  service.disabled:
    - name: tree-nothing
no service to restart:
  service.running:
    - name: tree-nothing
    - watch: [{cmd: something}]

no package:
  pkg.installed:
    - name: no-such-package
no packages:
  pkg.installed:
    - pkgs: [no-such-package, no-such-package-2, big-tree-app]
no version:
  pkg.installed:
    - name: big-tree-app
    - version: '99'
no latest package:
  pkg.latest:
    - name: no-such-package
no package to remove:
  pkg.removed:
    - name: no-such-package
no package to purge:
  pkg.purged:
    - pkgs: [no-such-package]
no package to hold:
  pkg.held:
    - name: no-such-package
no file of a package:
  pkg.installed:
    - sources: [big-tree-app: /nothing/here.deb]
no package in a file:
  pkg.installed:
    - sources: [big-tree-app: /srv/big_tree/states/bad/other.patch]
a package of another name:
  pkg.installed:
    - sources: [big-tree-other: /srv/big_tree/fixtures/repo/big-tree-file_5.0_all.deb]
no repository:
  pkgrepo.managed:
    - name: deb [trusted=yes] file:/nothing/here ./
    - file: /etc/apt/sources.list.d/nothing.list
no key of a repository:
  pkgrepo.managed:
    - name: deb http://deb.example.com/debian stable main
    - file: /etc/apt/sources.list.d/keyless.list
    - key_url: salt://bad/nothing.asc
no line of a repository:
  pkgrepo.managed:
    - name: nonsense
no group of a user:
  user.present:
    - name: tree-bad
    - groups: [no-group-of-that-name]
no user of a key:
  ssh_auth.present:
    - name: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
    - user: nobody-of-that-name
no user of a job:
  cron.present:
    - name: 'true'
    - user: nobody-of-that-name
no device:
  mount.mounted:
    - name: /mnt/nothing
    - device: /dev/nothing
    - fstype: ext4
    - mkmnt: true
no setting:
  sysctl.present:
    - name: net.nothing.here
    - value: 1
no repository of sources:
  git.latest:
    - name: file:///nothing/here.git
    - target: /opt/code/nothing
no branch of sources:
  git.latest:
    - name: file:///srv/big_tree/fixtures/project.git
    - target: /opt/code/no-branch
    - rev: no-such-branch
