# Commands and conditions.
runs:
  cmd.run:
    - name: echo out; echo err >&2

runs in a directory as somebody:
  cmd.run:
    - name: pwd; id -un; echo $WORD; umask
    - cwd: /opt
    - runas: daemon
    - umask: '027'
    - env:
      - WORD: from the state

fails:
  cmd.run:
    - name: echo no; exit 3

may fail:
  cmd.run:
    - name: exit 4
    - success_retcodes: [4]

says that it changed:
  cmd.run:
    - name: echo; echo 'changed=yes comment="as it says" who=me'
    - stateful: true

says that it did not:
  cmd.run:
    - name: |
        echo '{"changed": false, "comment": "nothing to do"}'
    - stateful: true

tells beforehand:
  cmd.run:
    - name: echo; echo 'changed=yes comment=done'
    - stateful:
      - test_name: echo; echo 'changed=yes comment=would'

takes too long:
  cmd.run:
    - name: sleep 20
    - timeout: 1

a script:
  cmd.script:
    - source: salt://flow/script.sh
    - args: one "two words"
    - cwd: /opt
    - template: jinja
    - context: {who: tree}

a script that is not there:
  cmd.script:
    - source: salt://flow/nowhere.sh

quiet:
  cmd.run:
    - name: echo hidden
    - hide_output: true

several commands:
  cmd.run:
    - names:
      - echo one
      - echo two:
        - unless: 'true'

waits:
  cmd.wait:
    - name: echo waited
    - watch: [{test: without changes}]

waits for a change:
  cmd.wait:
    - name: echo waited for a change
    - watch: [{test: every kind of result}]

{% for name, condition in (
    ('onlyif true', {'onlyif': 'true'}),
    ('onlyif false', {'onlyif': 'false'}),
    ('unless true', {'unless': 'true'}),
    ('unless false', {'unless': ['false', 'false']}),
    ('onlyif list', {'onlyif': ['true', 'false']}),
    ('unless list', {'unless': ['true', 'false']}),
    ('onlyif function', {'onlyif': [{'fun': 'file.file_exists', 'path': '/etc/passwd'}]}),
    ('unless function', {'unless': [{'fun': 'test.true'}]}),
    ('unless function with args', {'unless': [{'fun': 'file.search', 'args': ['/etc/passwd', 'root'], 'ignore_if_missing': true}]}),
    ('onlyif get_return', {'onlyif': [{'fun': 'test.arg', 'args': ['x'], 'get_return': 'args'}]}),
    ('creates', {'creates': '/etc/passwd'}),
    ('creates several', {'creates': ['/etc/passwd', '/nowhere']}),
    ('creates something else', {'creates': '/nowhere'}),
    ('onlyif and unless', {'onlyif': 'true', 'unless': 'true'}),
    ('check_cmd good', {'check_cmd': ['true']}),
    ('check_cmd bad', {'check_cmd': ['exit 7', 'true']}),
    ('retry', {'retry': {'attempts': 2, 'interval': 1}}),
    ('failhard off', {'failhard': false}),
    ('fire_event', {'fire_event': true}),
    ('parallel', {'parallel': true}),
    ('shell', {'shell': '/bin/bash', 'onlyif': '[[ a == a ]]'}),
    ('ignore timeout', {'ignore_timeout': true}),
) %}
condition {{ name }}:
  cmd.run:
    - name: echo ran
    {%- for key, value in condition.items() %}
    - {{ key }}: {{ value | json }}
    {%- endfor %}
{% endfor %}

tried again:
  test.fail_without_changes:
    - retry: {attempts: 2, interval: 1}

tried until it is enough:
  cmd.run:
    - name: 'false'
    - retry:
        attempts: 2
        until: false
        interval: 1
