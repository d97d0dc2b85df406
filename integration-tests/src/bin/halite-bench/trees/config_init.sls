include:
  - .file
  - .users
