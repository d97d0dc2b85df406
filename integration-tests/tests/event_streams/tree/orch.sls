ping:
  salt.function:
    - name: test.ping
    - tgt: web1
states:
  salt.state:
    - tgt: web1
    - sls: good
ran:
  salt.runner:
    - name: test.arg
    - kwarg: {a: 1}
keys:
  salt.wheel:
    - name: key.name_match
    - match: web1
