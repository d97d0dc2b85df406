# Commands that do not end, and such as cannot begin.
{% set here = '/etc/big-tree/bad' %}
too long:
  cmd.run:
    - name: sleep 9
    - timeout: 1
too long with children:
  cmd.run:
    - name: 'echo begun; sleep 9 & sleep 9'
    - timeout: 1
too long in a script:
  cmd.script:
    - source: salt://bad/endless.sh
    - timeout: 1
too long and of no matter:
  cmd.run:
    - name: sleep 9
    - timeout: 1
    - ignore_timeout: true
too long to wait for:
  cmd.wait:
    - name: sleep 9
    - timeout: 1
    - watch: [{cmd: something}]
something:
  cmd.run:
    - name: 'true'
    - stateful: false
no program:
  cmd.run:
    - name: /nothing/here
no program without a shell:
  cmd.run:
    - name: /nothing/here with words
    - python_shell: false
no working directory:
  cmd.run:
    - name: 'true'
    - cwd: /nothing/here
nobody:
  cmd.run:
    - name: 'true'
    - runas: nobody-of-that-name
no shell:
  cmd.run:
    - name: 'true'
    - shell: /nothing/here
no script:
  cmd.script:
    - source: salt://bad/nothing.sh
what a file may be:
  cmd.run:
    - name: 'ulimit -f 8; head -c 100000 /dev/zero > {{ here }}/zeros; echo $?'
a signal:
  cmd.run:
    - name: 'kill -9 $$'
a function:
  module.run:
    - no.such_function: []
a condition too long:
  cmd.run:
    - name: 'true'
    - timeout: 1
    - onlyif: exit 3
