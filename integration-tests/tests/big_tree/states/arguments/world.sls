# Commands, archives, source trees and settings: `world.yaml`.
{% import_yaml 'arguments/world.yaml' as functions %}
{% for function, cases in functions.items() %}
{%- for id, case in cases.items() %}
{%- set dir = '/etc/big-tree/arguments/' ~ function %}
{{ (('again ' if case.again | default(false) else '') ~ function ~ ' ' ~ id) | json }}:
  {{ function }}:
    {%- if case.name is not defined and not function.startswith("cmd.") %}
    - name: {{ (dir ~ '/' ~ id) | json }}
    {%- endif %}
    {%- for key, value in case.items() if key not in ('again', 'has') %}
    - {{ key }}: {{ value | json | replace('%DIR%', dir) }}
    {%- endfor %}
{% endfor %}
{%- endfor %}
