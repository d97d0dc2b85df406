{%- set names = ['ann', 'bob', 'carl', 'dora', 'emil', 'fred', 'gina', 'hugo'] %}
users:
{%- for name in names %}
  - name: {{ name }}
    uid: {{ 2000 + loop.index }}
    groups: [staff, {{ 'admin' if loop.first else 'users' }}]
    apps:
{%- for number in range(10) if (number + loop.index) is odd %}
      f{{ number }}: [read, {{ 'write' if loop.first else 'list' }}]
{%- endfor %}
{%- endfor %}
site: {{ grains.get('site', 'main') | upper }}
