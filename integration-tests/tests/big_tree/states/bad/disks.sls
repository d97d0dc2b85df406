# A disk that is full in the middle of each write, and one that is read-only.
{% set long = 'forty thousand times ten bytes are it. ' * 10000 %}

{% for disk in ['full', 'read-only'] %}
{% set here = '/mnt/' ~ disk %}
{{ disk }} managed:
  file.managed:
    - name: {{ here }}/managed
    - source: salt://bad/large
{{ disk }} new:
  file.managed:
    - name: {{ here }}/new
    - source: salt://bad/large
{{ disk }} contents:
  file.managed:
    - name: {{ here }}/contents
    - contents: {{ long }}
{{ disk }} serialized:
  file.serialize:
    - name: {{ here }}/serialized
    - serializer: json
    - dataset: {text: {{ long }}}
{{ disk }} appended:
  file.append:
    - name: {{ here }}/appended
    - text: {{ long }}
{{ disk }} prepended:
  file.prepend:
    - name: {{ here }}/prepended
    - text: {{ long }}
{{ disk }} replaced:
  file.replace:
    - name: {{ here }}/replaced
    - pattern: old
    - repl: {{ long }}
{{ disk }} line:
  file.line:
    - name: {{ here }}/line
    - match: old
    - mode: replace
    - content: {{ long }}
{{ disk }} block:
  file.blockreplace:
    - name: {{ here }}/block
    - append_if_not_found: true
    - content: {{ long }}
{{ disk }} key:
  file.keyvalue:
    - name: {{ here }}/key
    - key: old
    - value: {{ long }}
    - separator: ' '
    - append_if_not_found: true
{{ disk }} copied:
  file.copy:
    - name: {{ here }}/copied
    - source: /srv/big_tree/fixtures/bad/large
    - force: true
{{ disk }} options:
  ini.options_present:
    - name: {{ here }}/options
    - sections: {a: {b: {{ long }}}}
{{ disk }} folder:
  file.recurse:
    - name: {{ here }}/folder
    - source: salt://bad/folder
{{ disk }} archive:
  archive.extracted:
    - name: {{ here }}/extracted
    - source: salt://bad/large.tar
    - enforce_toplevel: false
{{ disk }} needs:
  test.nop:
    - require: [{file: '{{ disk }} managed'}]
{% endfor %}

{% set here = '/mnt/read-only' %}
no directory:
  file.directory:
    - name: {{ here }}/directory
no link:
  file.symlink:
    - name: {{ here }}/link
    - target: contents
no file:
  file.touch:
    - name: {{ here }}/touched
no mode:
  file.managed:
    - name: {{ here }}/mode
    - mode: '0600'
    - replace: false
no owner:
  file.directory:
    - name: {{ here }}/dir
    - user: daemon
not away:
  file.absent:
    - name: {{ here }}/contents
not away with all that is in it:
  file.absent:
    - name: {{ here }}/dir
no other name:
  file.rename:
    - name: {{ here }}/other
    - source: {{ here }}/contents
no comment:
  file.comment:
    - name: {{ here }}/contents
    - regex: old
not tidied:
  file.tidied:
    - name: {{ here }}/dir
not cleaned:
  file.directory:
    - name: {{ here }}/dir
    - clean: true
what is as it is to be:
  file.managed:
    - name: {{ here }}/contents
    - contents: old
after the disks:
  test.nop: []
