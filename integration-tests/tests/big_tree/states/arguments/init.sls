# Every argument of the functions that are used most, each case on its own.
include:
  - .edits
  - .nodes
  - .world
