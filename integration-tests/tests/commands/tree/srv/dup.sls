nothing:
  test.nop: []
