# Services by init scripts: there is no systemd in the root.
{% for name in ('tree-daemon', 'tree-idle', 'tree-broken', 'tree-watched') %}
/etc/init.d/{{ name }}:
  file.managed:
    - source: salt://service.init
    - template: jinja
    - context: {name: {{ name }}}
    - mode: '0755'
{% endfor %}

running:
  service.running:
    - name: tree-daemon
    - enable: true
    - require: [{file: /etc/init.d/tree-daemon}]

stopped:
  service.dead:
    - name: tree-idle
    - enable: false
    - require: [{file: /etc/init.d/tree-idle}]

never starts:
  service.running:
    - name: tree-broken
    - require: [{file: /etc/init.d/tree-broken}]

there is none:
  service.running:
    - name: tree-nothing

nothing to stop:
  service.dead:
    - name: tree-nothing

enabled:
  service.enabled:
    - name: tree-watched
    - require: [{file: /etc/init.d/tree-watched}]

disabled:
  service.disabled:
    - name: tree-idle
    - require: [{file: /etc/init.d/tree-idle}]

/etc/big-tree/watched.conf:
  file.managed:
    - contents: watched = 1

restarted:
  service.running:
    - name: tree-watched
    - watch:
      - file: /etc/big-tree/watched.conf
    - require: [{file: /etc/init.d/tree-watched}]

reloaded:
  service.running:
    - name: tree-daemon
    - reload: true
    - require: [{service: running}]
    - watch:
      - file: /etc/big-tree/watched.conf

masked:
  service.masked:
    - name: tree-idle
