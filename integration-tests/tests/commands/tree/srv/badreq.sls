a:
  test.nop:
    - require:
      - test: nosuch
