ping:
  salt.function:
    - name: test.ping
    - tgt: web1

states:
  salt.state:
    - tgt: web1
    - sls: ok
    - require:
      - salt: ping

runner:
  salt.runner:
    - name: test.arg
    - arg: [1]
