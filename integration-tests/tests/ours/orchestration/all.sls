run_web:
  salt.state:
    - tgt: '*'
    - sls: web
run_web2:
  salt.state:
    - tgt: 'm1'
    - tgt_type: list
    - sls: [noch]
    - pillar: {a: 1}
run_bad:
  salt.state:
    - tgt: '*'
    - sls: [bad]
run_missing:
  salt.state:
    - tgt: 'nobody*'
    - sls: web
run_missing_list:
  salt.state:
    - tgt: 'm1,gone'
    - tgt_type: list
    - sls: noch
run_nosls:
  salt.state:
    - tgt: '*'
    - sls: nothere
test.ping:
  salt.function:
    - tgt: '*'
fun_args:
  salt.function:
    - name: test.arg
    - tgt: '*'
    - arg: [1, b]
    - kwarg: {k: v}
fun_fail:
  salt.function:
    - name: cmd.run
    - tgt: '*'
    - arg: ['exit 3']
fun_none:
  salt.function:
    - name: test.ping
    - tgt: 'nobody*'
fun_false:
  salt.function:
    - name: test.false
    - tgt: '*'
fun_bad:
  salt.function:
    - name: test.nosuch
    - tgt: '*'
run_it:
  salt.runner:
    - name: test.arg
    - arg: [1]
    - kwarg: {q: 2}
manage.up:
  salt.runner: []
key.name_match:
  salt.wheel:
    - match: 'm*'
dep:
  test.nop:
    - require:
      - salt: run_bad
hs:
  salt.state:
    - tgt: '*'
    - highstate: True
none_given:
  salt.state:
    - tgt: '*'
ev:
  salt.wait_for_event:
    - name: my/tag/*
    - id_list: [a]
    - timeout: 1
