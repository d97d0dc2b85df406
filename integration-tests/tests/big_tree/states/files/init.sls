# Files of every kind.
include:
  - .managed
  - .directories
  - .edited
  - .linked
  - .copied
  - .serialized
  - .templated
  - .variants
