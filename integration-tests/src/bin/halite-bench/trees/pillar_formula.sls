{%- set port = 9000 + '@NAME@'[1:] | int %}
@NAME@:
  settings:
    port: {{ port }}
    workers: {{ [2, 8] | max }}
    log:
      level: {{ 'debug' if grains['id'] == 'web0' else 'warning' }}
{%- for section in ['cache', 'queue', 'search'] %}
    {{ section }}:
      host: {{ section }}.{{ grains['id'] }}.example.com
      port: {{ port + 100 * loop.index }}
      options: {{ {'retry': loop.index, 'timeout': loop.index * 5} | json }}
{%- endfor %}
