base:
  '*': [good]
