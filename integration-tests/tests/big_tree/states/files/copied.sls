# file.copy, rename, rename over, mknod.
/opt/copied:
  file.directory: []

copied:
  file.copy:
    - name: /opt/copied/file
    - source: /etc/big-tree/orig

copied with owner and mode:
  file.copy:
    - name: /opt/copied/owned
    - source: /etc/big-tree/orig
    - user: daemon
    - group: daemon
    - mode: '0600'

copied as it is:
  file.copy:
    - name: /opt/copied/preserved
    - source: /etc/big-tree/orig
    - preserve: true

copied tree:
  file.copy:
    - name: /opt/copied/tree
    - source: /etc/big-tree/copy-tree

copied, directories are made:
  file.copy:
    - name: /opt/copied/deep/er/file
    - source: /etc/big-tree/orig
    - makedirs: true

copied, directories are not made:
  file.copy:
    - name: /opt/copied/no/where
    - source: /etc/big-tree/orig

copied over:
  file.copy:
    - name: /etc/big-tree/copy-over
    - source: /etc/big-tree/orig
    - force: true
    - unless: cmp -s /etc/big-tree/orig /etc/big-tree/copy-over

copied, something is there:
  file.copy:
    - name: /etc/big-tree/copy-there
    - source: /etc/big-tree/orig

copied from nowhere:
  file.copy:
    - name: /opt/copied/nothing
    - source: /nowhere

copied into a directory:
  file.copy:
    - name: /etc/big-tree/copy-into
    - source: /etc/big-tree/orig
    - subdir: true

renamed:
  file.rename:
    - name: /opt/copied/renamed
    - source: /etc/big-tree/to-rename

renamed over:
  file.rename:
    - name: /etc/big-tree/rename-over
    - source: /etc/big-tree/to-rename-over
    - force: true

renamed into new directories:
  file.rename:
    - name: /opt/copied/new/dir/renamed
    - source: /etc/big-tree/to-rename-deep
    - makedirs: true

renamed from nowhere:
  file.rename:
    - name: /opt/copied/renamed-nothing
    - source: /nowhere

a pipe:
  file.mknod:
    - name: /opt/copied/pipe
    - ntype: p
    - user: daemon
    - group: daemon
    - mode: '0620'

a character device:
  file.mknod:
    - name: /opt/copied/null
    - ntype: c
    - major: 1
    - minor: 3
    - mode: '0666'

a block device:
  file.mknod:
    - name: /opt/copied/loop
    - ntype: b
    - major: 7
    - minor: 0
    - mode: '0660'

a device of no kind:
  file.mknod:
    - name: /opt/copied/what
    - ntype: x

