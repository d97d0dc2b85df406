keys:
  wheel.key.name_match:
    - args:
      - match: web1
said:
  runner.test.arg:
    - args: [{a: 1}]
