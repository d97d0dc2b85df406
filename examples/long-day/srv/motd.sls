/tmp/long-day/{{ grains['id'] }}/motd:
  file.managed:
    - source: salt://motd
    - template: jinja
