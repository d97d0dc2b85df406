states:
  salt.state:
    - tgt: web1
    - sls: bad
