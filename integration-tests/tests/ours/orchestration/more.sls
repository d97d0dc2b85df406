# Whose failure counts.
may_fail:
  salt.state:
    - tgt: m1
    - sls: bad
    - allow_fail: 1
may_fail_text:
  salt.state:
    - tgt: m1
    - sls: bad
    - allow_fail: '1'
may_fail_wrong:
  salt.state:
    - tgt: m1
    - sls: bad
    - allow_fail: x
excused:
  salt.state:
    - tgt: m1
    - sls: bad
    - fail_minions: m2, m1
excused_list:
  salt.state:
    - tgt: m1
    - sls: bad
    - fail_minions: [m1]
excused_wrong:
  salt.state:
    - tgt: m1
    - sls: web
    - fail_minions: {a: b}
nobody_is_fine:
  salt.state:
    - tgt: 'nobody*'
    - sls: web
    - expect_minions: false
excused_function:
  salt.function:
    - name: test.false
    - tgt: m1
    - fail_minions: [m1]
excused_code:
  salt.function:
    - name: cmd.run
    - tgt: m1
    - arg: ['exit 3']
    - fail_minions: m1
# What the run is told.
tried:
  salt.state:
    - tgt: m1
    - sls: web
    - test: true
not_tried:
  salt.state:
    - tgt: m1
    - sls: web
    - test: false
excluding:
  salt.state:
    - tgt: m1
    - sls: [web, noch]
    - exclude: web
with_queue:
  salt.state:
    - tgt: m1
    - sls: noch
    - queue: true
    - concurrent: false
    - timeout: 60
    - pillar: {a: 1}
    - saltenv: base
concurrent_wrong:
  salt.state:
    - tgt: m1
    - sls: noch
    - concurrent: 'yes'
unknown_argument:
  salt.state:
    - tgt: m1
    - sls: noch
    - foo: bar
several:
  salt.state:
    - names: [one, two]
    - tgt: m1
    - sls: noch
by_compound:
  salt.state:
    - tgt: 'm1 and not m2'
    - tgt_type: compound
    - sls: noch
# Functions of minions.
args_as_text:
  salt.function:
    - name: test.echo
    - tgt: m1
    - arg: word
nothing:
  salt.function:
    - name: test.echo
    - tgt: m1
    - arg: [null]
some:
  salt.function:
    - name: test.ping
    - tgt: m1
    - subset: 1
states_as_function:
  salt.function:
    - name: state.sls
    - tgt: m1
    - arg: [bad]
# Functions of the master.
by_name:
  salt.runner:
    - name: test.arg
    - b: 2
    - c: x
orchestrated:
  salt.runner:
    - name: state.orchestrate
    - mods: orch.inner
orchestrated_badly:
  salt.runner:
    - name: state.orchestrate
    - mods: orch.inner_bad
# Requisites between them.
after:
  test.succeed_with_changes:
    - require:
      - salt: excused
if_changed:
  test.nop:
    - onchanges:
      - salt: tried
if_failed:
  test.nop:
    - onfail:
      - salt: orchestrated_badly
not_then:
  salt.state:
    - tgt: m1
    - sls: web
    - require:
      - salt: orchestrated_badly
