# What cannot be done: nothing of it may change anything, and each says why.
include: [bad.disks, bad.commands, bad.services]

{% set here = '/etc/big-tree/bad' %}
{% set wrong = '0' * 64 %}

# Sources
a source that is missing:
  file.managed:
    - name: {{ here }}/old
    - source: salt://bad/nothing
a template that is missing:
  file.managed:
    - name: {{ here }}/old
    - source: salt://bad/nothing
    - template: jinja
none of the sources:
  file.managed:
    - name: {{ here }}/old
    - source: [salt://bad/nothing, /nothing/here, 'salt://bad/neither']
a file that is missing:
  file.managed:
    - name: {{ here }}/old
    - source: /nothing/here
a source without a hash:
  file.managed:
    - name: {{ here }}/old
    - source: http://127.0.0.1:9/nothing
a source that nobody serves:
  file.managed:
    - name: {{ here }}/old
    - source: http://127.0.0.1:9/nothing
    - skip_verify: true
an environment that is missing:
  file.managed:
    - name: {{ here }}/old
    - source: salt://second.conf?saltenv=nowhere
a folder that is missing:
  file.recurse:
    - name: {{ here }}/folder
    - source: salt://bad/nothing
a copy of nothing:
  file.copy:
    - name: {{ here }}/old
    - source: /nothing/here
    - force: true
text of a file that is missing:
  file.append:
    - name: {{ here }}/old
    - source: salt://bad/nothing
a patch that is missing:
  file.patch:
    - name: {{ here }}/old
    - source: salt://bad/nothing
a patch that does not fit:
  file.patch:
    - name: {{ here }}/old
    - source: salt://bad/other.patch
contents of no pillar:
  file.managed:
    - name: {{ here }}/old
    - contents_pillar: no:such:pillar
contents of no grain:
  file.managed:
    - name: {{ here }}/old
    - contents_grains: no:such:grain

# Hashes
a wrong hash:
  file.managed:
    - name: {{ here }}/old
    - source: /srv/big_tree/states/bad/other.patch
    - source_hash: sha256={{ wrong }}
a wrong hash of a served file:
  file.managed:
    - name: {{ here }}/served
    - source: salt://bad/other.patch
    - source_hash: {{ wrong }}
a hash that is none:
  file.managed:
    - name: {{ here }}/old
    - source: /srv/big_tree/states/bad/other.patch
    - source_hash: nonsense
a file of hashes that is missing:
  file.managed:
    - name: {{ here }}/old
    - source: /srv/big_tree/states/bad/other.patch
    - source_hash: salt://bad/nothing.sha256
a file of hashes without this one:
  file.managed:
    - name: {{ here }}/old
    - source: /srv/big_tree/states/bad/other.patch
    - source_hash: /srv/big_tree/states/bad/init.sls
an archive with a wrong hash:
  archive.extracted:
    - name: {{ here }}/extracted
    - source: /srv/big_tree/fixtures/app.tar.gz
    - source_hash: sha256={{ wrong }}
an archive that is missing:
  archive.extracted:
    - name: {{ here }}/extracted
    - source: salt://bad/nothing.tar.gz
an archive that is none:
  archive.extracted:
    - name: {{ here }}/extracted
    - source: /srv/big_tree/states/bad/other.patch
    - archive_format: tar
    - source_hash: {{ salt['file.get_hash']('/srv/big_tree/states/bad/other.patch', 'sha256') }}

# Places
nowhere:
  file.managed:
    - name: {{ here }}/no/way
    - contents: x
below a file:
  file.managed:
    - name: {{ here }}/old/below
    - contents: x
below a file that is made way for:
  file.managed:
    - name: {{ here }}/old/below
    - contents: x
    - makedirs: true
a directory in the way:
  file.managed:
    - name: {{ here }}/dir
    - contents: x
a file in the way:
  file.directory:
    - name: {{ here }}/old
a file in the way of a link:
  file.symlink:
    - name: {{ here }}/old
    - target: /nothing/here
nobody's:
  file.managed:
    - name: {{ here }}/old
    - contents: new
    - user: nobody-of-that-name
no group's:
  file.managed:
    - name: {{ here }}/old
    - contents: new
    - group: no-group-of-that-name
checked and found wanting:
  file.managed:
    - name: {{ here }}/old
    - contents: new
    - check_cmd: 'false #'
not a mode:
  file.managed:
    - name: {{ here }}/old
    - contents: new
    - mode: rw-rw-rw-

after all of that:
  test.nop: []
