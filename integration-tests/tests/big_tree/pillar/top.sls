base:
  '*': [settings, machine]
