# Requisites, orders, conditions: who runs, when, and who does not.
include:
  - flow.commands
  - flow.requisites

{% set flow = '/opt/flow' %}
{{ flow }}:
  file.directory:
    - order: first

last of all:
  test.nop:
    - order: last

ordered:
  test.nop:
    - order: 3

every kind of result:
  test.succeed_with_changes: []
without changes:
  test.succeed_without_changes: []
failing with changes:
  test.fail_with_changes: []
failing:
  test.fail_without_changes: []
a notification:
  test.show_notification:
    - text: told {{ pillar.word }}
configurable:
  test.configurable_test_state:
    - changes: false
    - result: true
    - comment: as told
configurable warnings:
  test.configurable_test_state:
    - changes: true
    - result: true
    - warnings: [careful, {{ 'very' }}]
checks the pillar:
  test.check_pillar:
    - present: [word, 'app:port']
    - integer: 'app:port'
    - listing: 'app:names'
    - string: 'app:names'
module, new style:
  module.run:
    - test.echo:
      - text: hello
module, several:
  module.run:
    - test.ping:
    - test.arg:
      - one
      - two: 2
module with a false return:
  module.run:
    - test.false: []
waits for nothing:
  module.wait:
    - test.ping:
