base:
  '*':
    - ok
  'role:db':
    - match: grain
    - shout
