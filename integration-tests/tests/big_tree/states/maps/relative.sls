#!jinja|yaml
{%- set here = tpldir %}
relative {{ here }}:
  test.nop:
    - require: [{file: from the included}]
