# file.managed: sources, contents, modes, backups, checks.
/opt/managed:
  file.directory:
    - mode: '0751'

{% for name, mode in (('plain', '0644'), ('private', '0600'), ('program', '0755'), ('sticky', '1644'), ('short', 640)) %}
/opt/managed/{{ name }}:
  file.managed:
    - contents: "{{ name }} of the tree"
    - mode: {{ mode }}
    - user: root
    - group: daemon
    - require:
      - file: /opt/managed
{% endfor %}

lines of a list:
  file.managed:
    - name: /opt/managed/lines
    - contents:
      - first
      - second
      - 'third: {{ pillar.word }}'

without newline:
  file.managed:
    - name: /opt/managed/no-newline
    - contents: no newline
    - contents_newline: false

contents from pillar:
  file.managed:
    - name: /opt/managed/from-pillar
    - contents_pillar: app:banner

contents from pillar list:
  file.managed:
    - name: /opt/managed/from-pillar-list
    - contents_pillar:
      - app:head
      - app:banner

contents from grains:
  file.managed:
    - name: /opt/managed/from-grains
    - contents_grains: id

contents of a pillar that is not there:
  file.managed:
    - name: /opt/managed/from-nowhere
    - contents_pillar: no:such:pillar

a binary file:
  file.managed:
    - name: /opt/managed/blob.bin
    - source: salt://blob.bin
    - mode: keep

a local source:
  file.managed:
    - name: /opt/managed/local
    - source: /srv/big_tree/fixtures/many/0/file-0
    - mode: keep

a source with its hash:
  file.managed:
    - name: /opt/managed/app.tar.gz
    - source: /srv/big_tree/fixtures/archives/app.tar.gz
    - source_hash: /srv/big_tree/fixtures/archives/SHA256SUMS

a source with a wrong hash:
  file.managed:
    - name: /opt/managed/wrong
    - source: /srv/big_tree/fixtures/archives/app.tar.gz
    - source_hash: sha256=0000000000000000000000000000000000000000000000000000000000000000

a file url:
  file.managed:
    - name: /opt/managed/url
    - source: file:///srv/big_tree/fixtures/many/1/file-1
    - skip_verify: true

the first source that is there:
  file.managed:
    - name: /opt/managed/first-source
    - source:
      - salt://files/nowhere.conf
      - salt://files/second.conf
      - salt://files/third.conf

a source that is not there:
  file.managed:
    - name: /opt/managed/missing
    - source: salt://files/nowhere.conf

directories are made:
  file.managed:
    - name: /opt/managed/deep/er/file
    - contents: deep
    - makedirs: true
    - dir_mode: '0750'
    - user: daemon
    - group: daemon

directories are not made:
  file.managed:
    - name: /opt/managed/nowhere/file
    - contents: deep

replace is off, file is new:
  file.managed:
    - name: /opt/managed/seeded
    - contents: seed
    - replace: false
    - mode: '0640'

replace is off, file is there:
  file.managed:
    - name: /etc/big-tree/kept
    - contents: other
    - replace: false
    - mode: '0600'

create is off:
  file.managed:
    - name: /opt/managed/never
    - contents: never
    - create: false

changed with a diff:
  file.managed:
    - name: /etc/big-tree/settings
    - contents: |
        # settings
        alpha = 1
        beta = 22
        delta = 4

changed without a diff:
  file.managed:
    - name: /etc/big-tree/secret
    - contents: new
    - show_changes: false
    - mode: '0400'

changed with a backup:
  file.managed:
    - name: /etc/big-tree/backed-up
    - contents: new
    - backup: minion

the same content, another mode:
  file.managed:
    - name: /etc/big-tree/same
    - contents: same
    - mode: '0600'
    - user: daemon

a link is followed:
  file.managed:
    - name: /etc/big-tree/link
    - contents: through the link

a link is replaced:
  file.managed:
    - name: /etc/big-tree/link-to-replace
    - contents: no link any more
    - follow_symlinks: false

extended attributes stay:
  file.managed:
    - name: /etc/big-tree/labelled
    - contents: new with label

one of several names:
  file.managed:
    - name: /etc/big-tree/hard-one
    - contents: changed

a directory is in the way:
  file.managed:
    - name: /etc/big-tree/directory
    - contents: no

checked before it is placed:
  file.managed:
    - name: /opt/managed/checked
    - contents: 'good'
    - check_cmd: grep -q good

refused by its check:
  file.managed:
    - name: /opt/managed/refused
    - contents: 'bad'
    - check_cmd: grep -q good

a user that is not there:
  file.managed:
    - name: /opt/managed/nobodys
    - contents: mine
    - user: no-such-user

an encoding:
  file.managed:
    - name: /opt/managed/latin
    - contents: 'Käse'
    - encoding: latin-1

several names:
  file.managed:
    - names:
      - /opt/managed/multi-a
      - /opt/managed/multi-b:
        - contents: b
        - mode: '0600'
    - contents: all

a temporary name beside it:
  file.managed:
    - name: /opt/managed/beside
    - contents: beside
    - tmp_dir: /opt/managed
    - tmp_ext: .new

empty:
  file.managed:
    - name: /opt/managed/empty

relative names are refused:
  file.managed:
    - name: opt/managed/relative
    - contents: no

hidden directory modes:
  file.managed:
    - name: /opt/managed/.hidden/file
    - contents: hidden
    - makedirs: true
    - mode: '0604'
