{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import @NAME@ with context %}

@NAME@-service-reload:
  test.nop:
    - name: reload {{ @NAME@.service.name }}
    - onchanges:
      - file: @NAME@-config-users
