base:
  '*':
    - files
    - accounts
    - packages
    - services
    - archives
    - code
    - system
    - flow
