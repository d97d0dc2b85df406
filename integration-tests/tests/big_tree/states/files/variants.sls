# Contents, names and changes of all shapes.
{% set dir = '/opt/variants' %}
{% for id, contents in (
    ('number', 42),
    ('zero', 0),
    ('fraction', 1.5),
    ('true', true),
    ('empty text', ''),
    ('list of numbers', [1, 2, 3]),
    ('umlauts', 'Grüße aus Köln ☃'),
    ('tabs', "a\tb"),
    ('trailing newlines', "a\n\n\n"),
    ('carriage returns', "a\r\nb\r\n"),
    ('quotes', "it's \"quoted\""),
    ('list of lists', ['a', ['b', 'c']]),
) %}
contents {{ id }}:
  file.managed:
    - name: {{ dir }}/{{ id }}
    - contents: {{ contents | json }}
    - makedirs: true
{% endfor %}

contents of a map:
  file.managed:
    - name: {{ dir }}/map
    - contents: {a: 1}

nothing at all:
  file.managed:
    - name: {{ dir }}/nothing
    - contents: null

nothing is not allowed:
  file.managed:
    - name: {{ dir }}/not-empty
    - contents: ''
    - allow_empty: false

contents with a delimiter:
  file.managed:
    - name: {{ dir }}/delimited
    - contents_pillar: app.deep.text
    - contents_delimiter: '.'

two sources of contents:
  file.managed:
    - name: {{ dir }}/both
    - contents: a
    - contents_pillar: word

contents and a source:
  file.managed:
    - name: {{ dir }}/both
    - contents: a
    - source: salt://files/third.conf

{% for name in ('with space', "with'quote", 'ümläut', '-dash', 'a:b', 'star*', 'percent%20', '#hash') %}
{{ ('name ' ~ name) | json }}:
  file.managed:
    - name: {{ (dir ~ '/names/' ~ name) | json }}
    - contents: named
    - makedirs: true
{% endfor %}

{% for mode in ('4755', '2755', '1777', '0', '0000', 777, '0o640') %}
mode {{ mode }}:
  file.managed:
    - name: {{ dir }}/modes/{{ mode }}
    - contents: mode
    - makedirs: true
    - mode: {{ mode | json }}
{% endfor %}

users by number:
  file.managed:
    - name: {{ dir }}/numbered
    - contents: numbered
    - user: 1
    - group: 4

users that nobody is:
  file.managed:
    - name: {{ dir }}/unknown-number
    - contents: numbered
    - user: 54321
    - group: 54321

{% for id, more in (
    ('whitespace', {'ignore_whitespace': true}),
    ('ordering', {'ignore_ordering': true}),
    ('comments', {'ignore_comment_characters': '#'}),
    ('all of it', {'ignore_whitespace': true, 'ignore_ordering': true, 'ignore_comment_characters': '#'}),
) %}
ignores {{ id }}:
  file.managed:
    - name: /etc/big-tree/ignores/{{ id }}
    - contents: "a = 1\nb  = 2\n# remark\n"
    {%- for key, value in more.items() %}
    - {{ key }}: {{ value | json }}
    {%- endfor %}
watches what ignores {{ id }}:
  test.succeed_without_changes:
    - onchanges:
      - file: ignores {{ id }}
{% endfor %}

a diff of a new file:
  file.managed:
    - name: {{ dir }}/new-diff
    - contents: "one\ntwo"
    - new_file_diff: true

a long file changes:
  file.managed:
    - name: /etc/big-tree/long
    - contents: |
        {%- for number in range(120) %}
        line {{ number if number % 40 else 'changed' }}
        {%- endfor %}

a binary file changes:
  file.managed:
    - name: /etc/big-tree/binary
    - source: salt://blob.bin

a binary file becomes text:
  file.managed:
    - name: /etc/big-tree/binary-to-text
    - contents: text

a file without an end changes:
  file.managed:
    - name: /etc/big-tree/no-end
    - contents: no end, but more
    - contents_newline: false

a source with its mode:
  file.managed:
    - name: {{ dir }}/kept-mode
    - source: salt://many/0/file-0
    - mode: keep

a source elsewhere in the environment:
  file.managed:
    - name: {{ dir }}/environment
    - source: salt://files/third.conf?saltenv=base

an unknown environment:
  file.managed:
    - name: {{ dir }}/unknown-environment
    - source: salt://files/third.conf?saltenv=nowhere

a template of a source that is local:
  file.managed:
    - name: {{ dir }}/local-template
    - source: /srv/big_tree/states/files/append.txt
    - template: jinja
    - context: {who: local}

context that is no map:
  file.managed:
    - name: {{ dir }}/bad-context
    - source: salt://files/append.txt
    - template: jinja
    - context: [who]

defaults that are no map:
  file.managed:
    - name: {{ dir }}/bad-defaults
    - source: salt://files/append.txt
    - template: jinja
    - defaults: who

a template engine that is not there:
  file.managed:
    - name: {{ dir }}/no-engine
    - source: salt://files/append.txt
    - template: no-such-engine

runs as somebody:
  file.managed:
    - name: {{ dir }}/runas
    - contents: x
    - runas: daemon

with an umask:
  file.managed:
    - name: {{ dir }}/umask
    - contents: x
    - umask: '077'

hash by name:
  file.managed:
    - name: {{ dir }}/hashed
    - source: /srv/big_tree/fixtures/many/1/file-1
    - source_hash: {{ salt['hashutil.digest_file']('/srv/big_tree/fixtures/many/1/file-1', 'md5') }}

hash of a name in a list:
  file.managed:
    - name: {{ dir }}/hash-name
    - source: /srv/big_tree/fixtures/archives/app.zip
    - source_hash: file:///srv/big_tree/fixtures/archives/SHA256SUMS
    - source_hash_name: app.zip

a hash of no kind:
  file.managed:
    - name: {{ dir }}/hash-none
    - source: /srv/big_tree/fixtures/archives/app.zip
    - source_hash: nonsense

directory over a link:
  file.directory:
    - name: /etc/big-tree/link-to-dir

directory over a link, not allowed:
  file.directory:
    - name: /etc/big-tree/link-to-dir
    - allow_symlink: false

directory over a dangling link:
  file.directory:
    - name: /etc/big-tree/dangling-dir

only what is in it:
  file.directory:
    - name: /etc/big-tree/children
    - children_only: true
    - dir_mode: '0700'
    - file_mode: '0600'
    - recurse: [mode]

silent:
  file.directory:
    - name: /etc/big-tree/silent
    - user: daemon
    - recurse: [user, silent]

ignoring directories:
  file.directory:
    - name: /etc/big-tree/files-only
    - dir_mode: '0700'
    - file_mode: '0600'
    - recurse: [mode, ignore_dirs]

with a bad recursion:
  file.directory:
    - name: /etc/big-tree/files-only
    - recurse: [everything]

with modes that conflict:
  file.directory:
    - name: /etc/big-tree/cleaned
    - clean: true
    - max_depth: 1

a link with attributes:
  file.symlink:
    - name: {{ dir }}/atomic
    - target: /etc/hosts
    - atomic: true

a link over a link, forced:
  file.symlink:
    - name: /etc/big-tree/link-over
    - target: /etc/hosts
    - force: true
    - atomic: true

a link over a directory:
  file.symlink:
    - name: /etc/big-tree/dir-to-link
    - target: /etc/hosts

a link over a directory, forced:
  file.symlink:
    - name: /etc/big-tree/dir-to-link2
    - target: /etc/hosts
    - force: true

{% for id, more in (
    ('a group that is used', {'pattern': '(\\w+)=(\\w+)', 'repl': '\\2=\\1'}),
    ('a dollar', {'pattern': '$', 'repl': ';', 'flags': ['MULTILINE'], 'count': 1}),
    ('nothing', {'pattern': 'zebra', 'repl': 'horse'}),
    ('dots', {'pattern': 'a.*b', 'repl': 'AB', 'flags': ['DOTALL']}),
    ('a look behind', {'pattern': '(?<=key=)\\w+', 'repl': 'found'}),
    ('a named group', {'pattern': '(?P<k>key)=(?P<v>\\w+)', 'repl': '\\g<v>=\\g<k>'}),
    ('several lines', {'pattern': 'key=value\\n', 'repl': ''}),
    ('a number as replacement', {'pattern': 'value', 'repl': 5}),
    ('a backslash', {'pattern': 'value', 'repl': 'a\\\\b'}),
    ('bad expression', {'pattern': '(', 'repl': 'x'}),
) %}
replaces {{ id }}:
  file.replace:
    - name: /etc/big-tree/replaces/{{ id }}
    - backup: false
    - unless: test -e '/etc/big-tree/replaces/{{ id }}.done'
    {%- for key, value in more.items() %}
    - {{ key }}: {{ value | json }}
    {%- endfor %}
replaced {{ id }}:
  file.managed:
    - name: /etc/big-tree/replaces/{{ id }}.done
{% endfor %}
