{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import @NAME@ with context %}

include:
  - {{ tplroot }}.config.file

@NAME@-service-running:
  test.nop:
    - name: {{ @NAME@.service.name }}
    - watch:
      - sls: {{ tplroot }}.config.file
