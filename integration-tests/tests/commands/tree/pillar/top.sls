base:
  '*':
    - common
  web1:
    - one
