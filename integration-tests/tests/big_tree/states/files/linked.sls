# file.symlink and hardlink.
/opt/links:
  file.directory: []

/opt/links/plain:
  file.symlink:
    - target: /etc/passwd

/opt/links/relative:
  file.symlink:
    - target: ../managed/plain

/opt/links/dangling:
  file.symlink:
    - target: /nowhere

/opt/links/deep/er/link:
  file.symlink:
    - target: /etc
    - makedirs: true
    - mode: '0750'

owned link:
  file.symlink:
    - name: /opt/links/owned
    - target: /etc/group
    - user: daemon
    - group: daemon

link that leads elsewhere:
  file.symlink:
    - name: /etc/big-tree/old-link
    - target: /etc/hosts

link instead of a file:
  file.symlink:
    - name: /etc/big-tree/file-to-link
    - target: /etc/hosts
    - force: true

link where a file is:
  file.symlink:
    - name: /etc/big-tree/same
    - target: /etc/hosts

link with a backup:
  file.symlink:
    - name: /etc/big-tree/file-to-link2
    - target: /etc/hosts
    - backupname: /etc/big-tree/file-to-link2.orig

link nowhere near:
  file.symlink:
    - name: /opt/nowhere/link
    - target: /etc/hosts

link of a pattern:
  file.symlink:
    - name: relative/link
    - target: /etc/hosts

hard link:
  file.hardlink:
    - name: /opt/links/hard
    - target: /opt/managed/plain
    - require:
      - file: /opt/managed/plain

hard link instead of a file:
  file.hardlink:
    - name: /etc/big-tree/file-to-hard
    - target: /etc/big-tree/hard-two
    - force: true
    - require: [{file: one of several names}]

hard link to what is not there:
  file.hardlink:
    - name: /opt/links/hard-none
    - target: /nowhere/at/all

hard link where a file is:
  file.hardlink:
    - name: /etc/big-tree/kept
    - target: /etc/passwd
