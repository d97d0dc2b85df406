{% set base = pillar['base'] %}
{{ base }}/made:
  file.directory:
    - mode: '0750'

{{ base }}/made/hello.txt:
  file.managed:
    - source: salt://hello.txt
    - mode: '0640'
    - require:
      - file: {{ base }}/made

{{ base }}/made/tmpl.txt:
  file.managed:
    - source: salt://tmpl.txt
    - template: jinja
    - context:
        extra: more

{{ base }}/made/link:
  file.symlink:
    - target: hello.txt

append:
  file.append:
    - name: {{ base }}/made/hello.txt
    - text: appended
