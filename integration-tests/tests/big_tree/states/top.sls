base:
  '*':
    - files
    - accounts
    - accounts.variants
    - packages
    - packages.variants
    - services
    - archives
    - archives.variants
    - code
    - system
    - system.variants
    - flow
    - maps
    - arguments
