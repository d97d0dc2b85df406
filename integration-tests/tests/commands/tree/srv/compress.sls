several:
  test.nop:
    - names:
      - a
      - b
      - c
  test.succeed_with_changes:
    - name: d
