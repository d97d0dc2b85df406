include:
  - nosuch
