# What templates compute, written down.
{% from 'maps/map.jinja' import app with context %}
{% import_yaml 'maps/defaults.yaml' as defaults %}
{% import_json 'maps/data.json' as data %}
{% import_text 'maps/notes.txt' as notes %}
{% load_yaml as loaded %}
a: 1
b: [x, y]
{% endload %}
{% set ns = namespace(total=0) %}
{% for number in range(5) %}{% set ns.total = ns.total + number %}{% endfor %}

/opt/maps/app.yaml:
  file.serialize:
    - makedirs: true
    - formatter: yaml
    - dataset: {{ app | json }}

/opt/maps/computed:
  file.managed:
    - makedirs: true
    - contents: |
        {{ defaults.app.name }} {{ data.numbers | sum }} {{ notes | trim }} {{ loaded.b | join('-') }}
        total {{ ns.total }}
        {{ 'a,b;c' | regex_replace('[,;]', '+') }} {{ 'x' | md5 }} {{ [3, 1, 2] | sort | join }}
        {{ '192.0.2.0/24' | network_hosts | first }} {{ 'fe80::1' | is_ipv6 }}
        {{ {'a': 1}.items() | list | length }} {{ 'text' | base64_encode }} {{ 10 | filesizeformat }}
        {{ salt['pillar.get']('app:names') | join(' ') }} {{ salt['pillar.get']('no:such', 'default') }}
        {{ salt['grains.get']('id') }} {{ grains['kernel'] }} {{ salt['config.get']('id') }}
        {{ salt['slsutil.merge']({'a': {'b': 1}}, {'a': {'c': 2}}) | json }}
        {{ salt['defaults.merge']({'a': 1}, {'b': 2}) | json }}
        {{ sls }} {{ tpldir }} {{ slsdotpath }} {{ saltenv }} {{ tplfile }}
        {{ salt['file.basename']('/a/b') }} {{ salt['cmd.run']('echo ran') }}
        {{ 'yes' if 'beta' in pillar.app.names else 'no' }}
        {{ 'x' ~ 1 ~ none ~ true }} {{ 7 // 2 }} {{ 7 % 2 }} {{ 2 ** 3 }}
        {{ pillar.app | tojson }}
        {{ ['a', 'b'] | yaml_encode if false else 'fine' }}
        {{ 'äöü' | upper }} {{ 'Some Title' | lower | replace(' ', '_') }}
        {{ [1, 2, 3, 4] | select('odd') | list }} {{ ['a', 'b', 'a'] | unique | list }}
        {{ range(3) | map('string') | join(',') }} {{ {'b': 1, 'a': 2} | dictsort | list }}

{% for name, value in app.items() | sort %}
/opt/maps/{{ name }}:
  file.managed:
    - makedirs: true
    - contents: {{ value | json | json }}
{% endfor %}

{% macro pair(name) %}
{{ name }} first:
  test.nop: []
{{ name }} second:
  test.nop:
    - require: [{test: {{ name }} first}]
{% endmacro %}
{{ pair('left') }}
{{ pair('right') }}

{% if grains.os_family == 'Debian' %}
for debian:
  test.nop: []
{% else %}
for others:
  test.nop: []
{% endif %}

include:
  - maps.included
  - .relative

exclude:
  - id: never seen

extend:
  from the included:
    file.managed:
      - contents: extended
      - mode: '0640'
