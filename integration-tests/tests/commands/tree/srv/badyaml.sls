a:
  test.nop: []
 b: 1
