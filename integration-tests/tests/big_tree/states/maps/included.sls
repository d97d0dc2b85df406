from the included:
  file.managed:
    - name: /opt/maps/included
    - contents: not extended
    - makedirs: true

never seen:
  test.fail_without_changes: []
