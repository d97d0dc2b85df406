nothing:
  test.nop: []

changed:
  test.succeed_with_changes:
    - name: something
    - require:
      - test: nothing

not changed:
  test.succeed_without_changes: []
