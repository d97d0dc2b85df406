fails:
  test.fail_without_changes: []

fails with changes:
  test.fail_with_changes: []

needs it:
  test.nop:
    - require:
      - test: fails

goes on:
  test.nop:
    - onfail:
      - test: fails

exit 3:
  cmd.run:
    - name: echo out; echo err >&2; exit 3
