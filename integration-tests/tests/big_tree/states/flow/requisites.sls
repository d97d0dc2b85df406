# Requisites of all kinds, towards what changed, did not, failed.
{% set all = ('every kind of result', 'without changes', 'failing', 'failing with changes') %}
{% for kind in ('require', 'watch', 'onchanges', 'onfail', 'listen', 'require_any', 'watch_any', 'onchanges_any', 'onfail_any', 'onfail_all') %}
{% for id in all %}
{{ kind }} {{ id }}:
  test.succeed_without_changes:
    - {{ kind }}:
      - test: {{ id }}
{% endfor %}
{{ kind }} all of them:
  test.nop:
    - {{ kind }}:
      {%- for id in all %}
      - test: {{ id }}
      {%- endfor %}
{% endfor %}

{% for kind in ('require_in', 'watch_in', 'onchanges_in', 'onfail_in', 'listen_in', 'prereq_in') %}
{{ kind }}:
  test.configurable_test_state:
    - changes: true
    - result: true
    - {{ kind }}:
      - {{ 'cmd' if kind == 'listen_in' else 'test' }}: target of {{ kind }}
target of {{ kind }}:
  {%- if kind == 'listen_in' %}
  cmd.wait:
    - name: echo listened
  {%- else %}
  test.configurable_test_state:
    - changes: true
    - result: true
  {%- endif %}
{% endfor %}

prereq of a change:
  cmd.run:
    - name: echo before
    - prereq:
      - file: changed after the prereq

changed after the prereq:
  file.managed:
    - name: /opt/flow/after-prereq
    - contents: after
    - makedirs: true

prereq of no change:
  cmd.run:
    - name: echo never
    - prereq:
      - test: without changes

uses:
  file.managed:
    - name: /opt/flow/uses
    - use:
      - file: used

used:
  file.managed:
    - name: /opt/flow/used
    - contents: used
    - mode: '0611'
    - makedirs: true

used in:
  file.managed:
    - name: /opt/flow/used-in
    - contents: other
    - mode: '0622'
    - makedirs: true
    - use_in:
      - file: uses what is used in

uses what is used in:
  file.managed:
    - name: /opt/flow/uses-used-in

requires an sls:
  test.nop:
    - require: [{sls: flow.commands}]

requires by id:
  test.nop:
    - require: [used, uses]

requires by name:
  test.nop:
    - require: [{file: /opt/flow/used}]

requires a pattern:
  test.nop:
    - require: [{file: /opt/flow/use*}]

watches a file:
  cmd.wait:
    - name: echo a file changed
    - watch: [{file: used}]

module watches:
  module.wait:
    - test.echo: [{text: watched}]
    - watch: [{file: used}]

chain 1:
  test.nop:
    - require: [{test: chain 2}]
chain 2:
  test.nop:
    - require: [{test: chain 3}]
chain 3:
  test.fail_without_changes: []

extend:
  last of all:
    test:
      - require: [{test: chain 1}]
  a notification:
    test:
      - text: extended
