first:
  test.configurable_test_state:
    - changes: True
    - result: True
    - comment: first is done

watches:
  cmd.wait:
    - name: echo watched
    - watch:
      - test: first

onchanges:
  test.nop:
    - onchanges:
      - test: first

prereq:
  test.nop:
    - prereq:
      - test: first

unless:
  cmd.run:
    - name: echo never
    - unless: 'true'

onlyif:
  cmd.run:
    - name: echo never
    - onlyif: 'false'

listens:
  test.nop:
    - listen:
      - test: first

warns:
  test.configurable_test_state:
    - changes: False
    - result: True
    - warnings: careful
