{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import @NAME@ with context %}
{%- from tplroot ~ "/macros.jinja" import path with context %}

@NAME@-config-users:
  file.managed:
    - name: {{ path(@NAME@, 'users') }}
    - makedirs: True
    - contents:
{%- for user in salt['pillar.get']('users', []) if user.get('apps', {}).get('@NAME@') %}
      - "{{ loop.index }} {{ user.name }} {{ user.apps.@NAME@ | sort | join(',') }}"
{%- else %}
      - nobody
{%- endfor %}
