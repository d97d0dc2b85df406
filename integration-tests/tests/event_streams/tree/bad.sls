fails:
  test.fail_without_changes: []
