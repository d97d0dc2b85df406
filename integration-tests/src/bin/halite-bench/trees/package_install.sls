{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import @NAME@ with context %}

@NAME@-package-install-pkg:
  test.succeed_without_changes:
    - name: {{ @NAME@.pkg.name }}

{%- for extra in @NAME@.pkg.extra %}

@NAME@-package-install-{{ extra }}:
  test.succeed_without_changes:
    - name: {{ extra }}
    - require:
      - test: @NAME@-package-install-pkg
{%- endfor %}
