# Templates with context, defaults, imports and functions.
templated:
  file.managed:
    - name: /opt/templated/conf
    - source: salt://files/templates/app.conf
    - template: jinja
    - makedirs: true
    - defaults: {host: nowhere, port: 1}
    - context: {port: 8443}

templated contents:
  file.managed:
    - name: /opt/templated/inline
    - makedirs: true
    - template: jinja
    - contents: |
        {{ '{{ grains.id }}' }} of {{ '{{ pillar.word }}' }}

templated with a mistake:
  file.managed:
    - name: /opt/templated/broken
    - source: salt://files/broken.jinja
    - template: jinja

templated by py:
  file.managed:
    - name: /opt/templated/by-py
    - source: salt://files/made.py
    - template: py
    - context: {count: 3}

templated from pillar:
  file.managed:
    - name: /opt/templated/from-pillar
    - template: jinja
    - contents_pillar: app:template
    - context: {name: ctx}
