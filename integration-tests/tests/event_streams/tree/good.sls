one:
  test.succeed_without_changes: []
two:
  test.succeed_with_changes:
    - fire_event: True
three:
  test.nop:
    - fire_event: my/own
