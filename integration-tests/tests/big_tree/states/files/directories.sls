# file.directory, recurse, absent, tidied, retention_schedule.
/opt/dirs:
  file.directory:
    - user: daemon
    - group: daemon
    - dir_mode: '2775'

/opt/dirs/a/b/c:
  file.directory:
    - makedirs: true
    - user: root
    - group: adm
    - mode: '0711'

several directories:
  file.directory:
    - names:
      - /opt/dirs/n1
      - /opt/dirs/n2:
        - mode: '0700'

without makedirs:
  file.directory:
    - name: /opt/dirs/no/where

owners and modes below:
  file.directory:
    - name: /etc/big-tree/tree
    - user: daemon
    - group: daemon
    - dir_mode: '0755'
    - file_mode: '0640'
    - recurse:
      - user
      - group
      - mode

modes of directories only:
  file.directory:
    - name: /etc/big-tree/tree2
    - dir_mode: '0700'
    - file_mode: '0600'
    - recurse: [mode, ignore_files]

owners to a depth:
  file.directory:
    - name: /etc/big-tree/tree3
    - user: daemon
    - max_depth: 1
    - recurse: [user]

cleaned:
  file.directory:
    - name: /etc/big-tree/cleaned
    - clean: true
    - exclude_pat: '*.keep'

managed in the cleaned one:
  file.managed:
    - name: /etc/big-tree/cleaned/managed
    - contents: stays
    - require_in:
      - file: cleaned

a file is in the way of a directory:
  file.directory:
    - name: /etc/big-tree/same

a file makes place:
  file.directory:
    - name: /etc/big-tree/file-to-dir
    - force: true

a file makes place, with a backup:
  file.directory:
    - name: /etc/big-tree/file-to-dir2
    - backupname: /etc/big-tree/file-to-dir2.orig

a tree of files:
  file.recurse:
    - name: /opt/recursed
    - source: salt://many
    - user: root
    - group: daemon
    - dir_mode: '0750'
    - file_mode: '0640'
    - include_empty: true

a tree with its modes:
  file.recurse:
    - name: /opt/recursed-keep
    - source: salt://many
    - file_mode: keep
    - exclude_pat: '*.bak'
    - keep_symlinks: true

some of a tree:
  file.recurse:
    - name: /opt/recursed-some
    - source: salt://many
    - include_pat: 'E@file-1\d*$'
    - maxdepth: 1

a tree over another, cleaned:
  file.recurse:
    - name: /etc/big-tree/recursed
    - source: salt://many
    - clean: true

a tree of templates:
  file.recurse:
    - name: /opt/recursed-templates
    - source: salt://files/templates
    - template: jinja
    - context:
        port: 8080
    - defaults:
        host: localhost

a tree that is not there:
  file.recurse:
    - name: /opt/recursed-missing
    - source: salt://nowhere

absent file:
  file.absent:
    - name: /etc/big-tree/unwanted

absent tree:
  file.absent:
    - name: /etc/big-tree/unwanted-tree

absent link:
  file.absent:
    - name: /etc/big-tree/unwanted-link

absent already:
  file.absent:
    - name: /etc/big-tree/never-was

tidied:
  file.tidied:
    - name: /etc/big-tree/tidy
    - age: 7
    - age_size_only: age
    - matches:
      - '.*\.log'
    - rmdirs: true

tidied by size:
  file.tidied:
    - name: /etc/big-tree/tidy-size
    - age_size_only: size
    - size: 1k

tidied nowhere:
  file.tidied:
    - name: /etc/big-tree/nowhere

kept for a while:
  file.retention_schedule:
    - name: /etc/big-tree/backups
    - strptime_format: backup-%Y-%m-%d.tar
    - timezone: UTC
    - retain:
        most_recent: 2
        first_of_year: 1
        first_of_month: 2

exists:
  file.exists:
    - name: /etc/passwd

does not exist:
  file.exists:
    - name: /etc/no-such-file

missing:
  file.missing:
    - name: /etc/no-such-file

not missing:
  file.missing:
    - name: /etc/passwd

not cached:
  file.not_cached:
    - name: salt://files/nowhere.conf

cached:
  file.cached:
    - name: salt://files/third.conf
