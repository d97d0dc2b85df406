# Changes within files: append, prepend, replace, line, blockreplace, comment,
# uncomment, keyvalue, patch, touch, accumulated.
{% set edit = '/etc/big-tree/edit' %}
appended:
  file.append:
    - name: {{ edit }}/append
    - text:
      - first line
      - one more
      - 'and {{ pillar.word }}'

appended text:
  file.append:
    - name: {{ edit }}/append-text
    - text: |
        several
        lines

appended to what is not there:
  file.append:
    - name: /opt/edited/appended
    - makedirs: true
    - text: alone

appended from a source:
  file.append:
    - name: {{ edit }}/append-source
    - source: salt://files/append.txt
    - template: jinja
    - context: {who: tree}

prepended:
  file.prepend:
    - name: {{ edit }}/prepend
    - text:
      - '# managed'
      - first line

prepended as a header:
  file.prepend:
    - name: {{ edit }}/prepend-header
    - text: ['#!/bin/sh', 'set -e']
    - header: true

replaced:
  file.replace:
    - name: {{ edit }}/replace
    - pattern: '^(\w+) = \d+$'
    - repl: '\1 = 99'
    - flags: [MULTILINE]

replaced once:
  file.replace:
    - name: {{ edit }}/replace-once
    - pattern: '^a'
    - repl: A
    - count: 1
    - backup: .orig

replaced, appended if not there:
  file.replace:
    - name: {{ edit }}/replace-append
    - pattern: '^MaxSessions .*'
    - repl: MaxSessions 10
    - append_if_not_found: true

replaced, prepended if not there:
  file.replace:
    - name: {{ edit }}/replace-prepend
    - pattern: '^First .*'
    - repl: First
    - prepend_if_not_found: true

replaced, other content if not there:
  file.replace:
    - name: {{ edit }}/replace-other
    - pattern: '^Port .*'
    - repl: Port 22
    - not_found_content: Port 22 # default
    - append_if_not_found: true

replaced without a diff:
  file.replace:
    - name: {{ edit }}/replace-quiet
    - pattern: secret
    - repl: SECRET
    - show_changes: false

replaced with ignored case:
  file.replace:
    - name: {{ edit }}/replace-case
    - pattern: 'yes'
    - repl: 'no'
    - ignore_if_missing: true
    - flags: [IGNORECASE, MULTILINE]

replaced in what is not there:
  file.replace:
    - name: {{ edit }}/nowhere
    - pattern: a
    - repl: b

replaced in what may be missing:
  file.replace:
    - name: {{ edit }}/nowhere
    - pattern: a
    - repl: b
    - ignore_if_missing: true

{% for mode, more in (('ensure', {'after': '^two'}), ('ensure', {'before': '^three'}), ('replace', {'match': '^two'}), ('delete', {'match': 'two'}), ('insert', {'location': 'end'}), ('insert', {'location': 'start'}), ('insert', {'after': '^one', 'indent': false})) %}
line {{ loop.index }}:
  file.line:
    - name: {{ edit }}/line-{{ loop.index }}
    - mode: {{ mode }}
    - content: {{ 'two' if mode == 'delete' else 'a line' }}
    {%- for key, value in more.items() %}
    - {{ key }}: {{ value | yaml }}
    {%- endfor %}
    {%- if mode == 'insert' %}
    - unless: grep -q 'a line' {{ edit }}/line-{{ loop.index }}
    {%- endif %}
{% endfor %}

a line in a file that is made:
  file.line:
    - name: /opt/edited/line-new
    - mode: insert
    - location: end
    - content: only
    - create: true
    - file_mode: '0600'
    - creates: /opt/edited/line-new

a block:
  file.blockreplace:
    - name: {{ edit }}/block
    - marker_start: '# START'
    - marker_end: '# END'
    - content: |
        inner one
        inner two
    - backup: .bak

a block that is appended:
  file.blockreplace:
    - name: {{ edit }}/block-append
    - marker_start: '# START'
    - marker_end: '# END'
    - content: appended block
    - append_if_not_found: true
    - append_newline: true

a block that is prepended:
  file.blockreplace:
    - name: {{ edit }}/block-prepend
    - marker_start: '# START'
    - marker_end: '# END'
    - content: prepended block
    - prepend_if_not_found: true
    - show_changes: false

a block after a pattern:
  file.blockreplace:
    - name: {{ edit }}/block-after
    - marker_start: '# START'
    - marker_end: '# END'
    - content: block after
    - insert_after_match: '^two'

a block that is not there:
  file.blockreplace:
    - name: {{ edit }}/block-none
    - marker_start: '# START'
    - marker_end: '# END'
    - content: nowhere

a block that is gathered:
  file.blockreplace:
    - name: {{ edit }}/block-gathered
    - marker_start: '# START'
    - marker_end: '# END'
    - append_if_not_found: true
    - content: first

{% for text in ('second', 'third') %}
gathered {{ text }}:
  file.accumulated:
    - name: gathered
    - filename: {{ edit }}/block-gathered
    - text: {{ text }}
    - require_in:
      - file: a block that is gathered
{% endfor %}

gathered for a template:
  file.accumulated:
    - name: parts
    - filename: /opt/edited/gathered
    - text: [one, two]
    - require_in:
      - file: /opt/edited/gathered

/opt/edited/gathered:
  file.managed:
    - source: salt://files/gathered.jinja
    - template: jinja
    - makedirs: true

commented:
  file.comment:
    - name: {{ edit }}/comment
    - regex: '^(alpha|beta)'

commented otherwise:
  file.comment:
    - name: {{ edit }}/comment-char
    - regex: '^beta'
    - char: ';'
    - backup: false

commented, not there:
  file.comment:
    - name: {{ edit }}/comment-none
    - regex: '^omega'

commented, may be missing:
  file.comment:
    - name: {{ edit }}/comment-none
    - regex: '^omega'
    - ignore_missing: true

uncommented:
  file.uncomment:
    - name: {{ edit }}/uncomment
    - regex: 'beta'

uncommented, not there:
  file.uncomment:
    - name: {{ edit }}/uncomment-none
    - regex: 'omega'

keys:
  file.keyvalue:
    - name: {{ edit }}/keyvalue
    - key_values:
        PermitRootLogin: 'no'
        Port: 2222
        UsePAM: 'yes'
    - separator: ' '
    - uncomment: '#'
    - append_if_not_found: true

one key:
  file.keyvalue:
    - name: {{ edit }}/keyvalue-one
    - key: alpha
    - value: 5
    - separator: '='
    - show_changes: false

a key that is not there:
  file.keyvalue:
    - name: {{ edit }}/keyvalue-none
    - key: omega
    - value: 5
    - separator: '='

keys that must match:
  file.keyvalue:
    - name: {{ edit }}/keyvalue-case
    - key: ALPHA
    - value: 6
    - separator: '='
    - key_ignore_case: true
    - search_only: false

patched:
  file.patch:
    - name: {{ edit }}/patched
    - source: salt://changes.patch

touched:
  file.touch:
    - name: /opt/edited/touched
    - makedirs: true
    - creates: /opt/edited/touched

touched with times:
  file.touch:
    - name: {{ edit }}/touched
    - atime: 1577934245
    - mtime: 1577934245
    - onlyif: test "$(stat -c %Y {{ edit }}/touched)" != 1577934245

decoded:
  file.decode:
    - name: /opt/edited/decoded
    - encoded_data: {{ 'decoded text' | base64_encode }}
    - encoding_type: base64

decoded from pillar:
  file.decode:
    - name: /opt/edited/decoded-pillar
    - contents_pillar: app:encoded
    - encoding_type: base64
    - checksum: md5
