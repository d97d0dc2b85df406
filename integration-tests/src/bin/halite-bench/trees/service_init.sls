include:
  - .running
  - .reload
