{% set version = pillar.get('version', 0) %}
{% set parity = version % 2 %}
{% set before = version - 2 %}

TARGET/small:
  file.managed:
    - source: salt://small.j2
    - template: jinja
    - context: {version: {{ version }}, what: small}
    - mode: '0640'
    - backup: minion

TARGET/secret:
  file.managed:
{% if parity %}
    - contents: {{ ('secret ' ~ version ~ ' ') * 20000 }}
    - mode: '0600'
{% else %}
    - contents: {{ ('public ' ~ version ~ ' ') * 20000 }}
    - mode: '0644'
{% endif %}

TARGET/large:
  file.managed:
    - source: salt://large{{ parity }}
    - mode: '0644'

TARGET/folder:
  file.recurse:
    - source: salt://folder{{ parity }}
    - clean: True
    - file_mode: '0640'
    - dir_mode: '0750'

TARGET/appended:
  file.append:
    - text: |
        version {{ version }}
{%- for number in range(150) %}
        line {{ number }} of version {{ version }}, which is long enough
{%- endfor %}

TARGET/prepended:
  file.prepend:
    - text: version {{ version }}

TARGET/replaced:
  file.replace:
    - pattern: '^version=.*$'
    - repl: version={{ version }}

TARGET/line:
  file.line:
    - match: '^version='
    - content: version={{ version }}
    - mode: replace

TARGET/keyvalue:
  file.keyvalue:
    - key: version
    - value: '{{ version }}'
    - separator: '='

TARGET/block:
  file.blockreplace:
    - marker_start: '# begin'
    - marker_end: '# end'
    - content: version {{ version }}
    - append_if_not_found: True

TARGET/commented:
{% if parity %}
  file.uncomment:
{% else %}
  file.comment:
{% endif %}
    - regex: '^version'

TARGET/serialized.json:
  file.serialize:
    - serializer: json
    - mode: '0600'
    - dataset:
        version: {{ version }}
        numbers: {{ range(3000) | list }}

TARGET/archives:
  archive.extracted:
    - name: TARGET/archives/{{ version }}
    - source: salt://folder{{ parity }}.tar.gz
    - enforce_toplevel: False

TARGET/archives/{{ before }}:
  file.absent

TARGET/worktree:
  git.latest:
    - name: file://BASE/git
    - target: TARGET/worktree
    - rev: {{ 'odd' if parity else 'even' }}
    - force_reset: True
    - force_checkout: True

{# One that is made anew in each run. #}
TARGET/clones/{{ version }}:
  git.latest:
    - name: file://BASE/git
    - target: TARGET/clones/{{ version }}
    - rev: {{ 'odd' if parity else 'even' }}

TARGET/clones/{{ before }}:
  file.absent

TARGET/forward:
  git.latest:
    - name: file://BASE/git
    - target: TARGET/forward
    - rev: v{{ version }}

TARGET/link:
  file.symlink:
    - target: version{{ version }}

TARGET/directory:
  file.directory:
    - mode: '{{ '0700' if parity else '0750' }}'

TARGET/copied:
  file.copy:
    - source: BASE/copied{{ parity }}
    - force: True
    - unless: cmp -s BASE/copied{{ parity }} TARGET/copied

options:
  ini.options_present:
    - name: TARGET/options.ini
    - sections:
        main:
          version: '{{ version }}'

version:
  grains.present:
    - value: {{ version }}

a host:
  host.present:
    - ip: 192.0.2.{{ version % 250 + 1 }}
    - names: [made-up.example.com]
    - comment: version {{ version }}
    - clean: True

echo {{ version }}:
  cron.present:
    - identifier: kills
    - minute: '{{ version % 60 }}'

echo {{ version }} > TARGET/command.new; sleep 0.02; mv TARGET/command.new TARGET/command:
  cmd.run:
    - unless: grep -qx {{ version }} TARGET/command

{% for number in range(20) %}
TARGET/many/{{ number }}:
  file.managed:
    - makedirs: True
    - contents: version {{ version }} of {{ number }}
{% endfor %}
