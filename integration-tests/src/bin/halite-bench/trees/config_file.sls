{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_package = tplroot ~ '.package.install' %}
{%- from tplroot ~ "/map.jinja" import @NAME@ with context %}
{%- from tplroot ~ "/macros.jinja" import path with context %}

include:
  - {{ sls_package }}

@NAME@-config-file-directory:
  file.directory:
    - name: {{ @NAME@.config_dir }}
    - mode: '0755'
    - makedirs: True

{%- for part in ['Main', 'Limits', 'Access Log'] %}

@NAME@-config-file-{{ part | lower | replace(' ', '-') }}:
  file.managed:
    - name: {{ path(@NAME@, part ~ '.conf') }}
    - source: salt://{{ tplroot }}/files/main.conf.jinja
    - mode: '0644'
    - template: jinja
    - context:
        part: {{ part | json }}
        settings: {{ @NAME@.settings | json }}
    - require:
      - sls: {{ sls_package }}
      - file: @NAME@-config-file-directory
{%- endfor %}
