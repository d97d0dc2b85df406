# Groups, users, keys, known hosts, crontabs.
{% for name, gid in (('tree-ops', 4801), ('tree-web', 4802), ('tree-db', 4803)) %}
{{ name }}:
  group.present:
    - gid: {{ gid }}
{% endfor %}

system group:
  group.present:
    - name: tree-system
    - system: true
    - gid: 480

group with members:
  group.present:
    - name: tree-members
    - gid: 4810
    - members: [tree-old, daemon]

group that gains a member:
  group.present:
    - name: tree-existing
    - addusers: [tree-old]

group with another id:
  group.present:
    - name: tree-moved
    - gid: 4820

group that is gone:
  group.absent:
    - name: tree-gone

group that never was:
  group.absent:
    - name: tree-never

alice:
  user.present:
    - fullname: Alice of the Tree
    - uid: 4901
    - gid: 4801
    - shell: /bin/bash
    - home: /home/alice
    - roomnumber: '12'
    - workphone: '555'
    - homephone: '556'
    - groups: [tree-web, tree-db]
    - require: [{group: tree-ops}, {group: tree-web}, {group: tree-db}]

bob:
  user.present:
    - uid: 4902
    - usergroup: false
    - gid: 100
    - createhome: false
    - optional_groups: [tree-web, no-such-group]
    - password: '$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/'
    - empty_password: false

carol:
  user.present:
    - uid: 4903
    - system: true
    - home: /var/lib/carol
    - shell: /usr/sbin/nologin
    - mindays: 1
    - maxdays: 90
    - inactdays: 5
    - warndays: 9
    - expire: 20000

user that changes:
  user.present:
    - name: tree-old
    - shell: /bin/bash
    - fullname: Changed Name
    - groups: [tree-web]
    - remove_groups: false

user that moves home:
  user.present:
    - name: tree-mover
    - home: /home/moved

user of an unknown group:
  user.present:
    - name: dave
    - groups: [no-such-group]

user that is gone:
  user.absent:
    - name: tree-leaver
    - purge: true

user that never was:
  user.absent:
    - name: tree-nobody

# Keys
{% set rsa = 'AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7' ~ 'abcdEFGH' * 12 %}
{% set ed = 'AAAAC3NzaC1lZDI1NTE5AAAAIJab' ~ 'abcdEFGH' * 5 %}
a key:
  ssh_auth.present:
    - name: {{ rsa }}
    - user: alice
    - enc: ssh-rsa
    - comment: alice@example.com
    - require: [{user: alice}]

a key with options:
  ssh_auth.present:
    - name: ssh-ed25519 {{ ed }} deploy
    - user: alice
    - options:
      - no-pty
      - command="/bin/true"
    - require: [{user: alice}]

keys of a file:
  ssh_auth.present:
    - user: alice
    - source: salt://accounts-keys.pub
    - require: [{user: alice}]

a key in another file:
  ssh_auth.present:
    - name: {{ ed }}
    - enc: ed25519
    - user: root
    - config: /etc/big-tree/authorized_keys

a key of nobody:
  ssh_auth.present:
    - name: {{ ed }}
    - user: tree-nobody

a key that is gone:
  ssh_auth.absent:
    - name: AAAAB3NzaC1yc2EAAAADAQABAAAAgQDgoneA
    - user: tree-old
    - enc: ssh-rsa

keys managed:
  ssh_auth.manage:
    - user: tree-mover
    - enc: ssh-rsa
    - ssh_keys:
      - ssh-rsa {{ rsa }} managed
    - require: [{user: user that moves home}]

a known host:
  ssh_known_hosts.present:
    - name: git.example.com
    - user: alice
    - enc: ssh-ed25519
    - key: AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
    - hash_known_hosts: false
    - require: [{user: alice}]

a known host of all:
  ssh_known_hosts.present:
    - name: all.example.com
    - config: /etc/big-tree/known_hosts
    - enc: ssh-ed25519
    - key: AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
    - hash_known_hosts: false
    - port: 2222

a host that is not known any more:
  ssh_known_hosts.absent:
    - name: old.example.com
    - config: /etc/big-tree/old_known_hosts

# Jobs
nightly:
  cron.present:
    - name: /usr/local/bin/nightly --all
    - user: root
    - minute: 5
    - hour: '3'
    - identifier: nightly
    - comment: every night

at random:
  cron.present:
    - name: /bin/true
    - identifier: at-noon
    - hour: 12
    - minute: 0
    - daymonth: '1,15'
    - month: '*/2'
    - dayweek: 1-5

with a special time:
  cron.present:
    - name: /usr/local/bin/booted
    - special: '@reboot'
    - user: alice
    - require: [{user: alice}]

without an identifier:
  cron.present:
    - name: /usr/local/bin/plain % percent
    - minute: '*/10'

commented out:
  cron.present:
    - name: /usr/local/bin/off
    - identifier: off
    - commented: true

a job that changes:
  cron.present:
    - name: /usr/local/bin/changed
    - identifier: changing
    - minute: 30

a job that is gone:
  cron.absent:
    - name: /usr/local/bin/old-job

a job that is gone by its identifier:
  cron.absent:
    - name: /whatever
    - identifier: gone-id

a crontab variable:
  cron.env_present:
    - name: MAILTO
    - value: ops@example.com

a crontab variable that is gone:
  cron.env_absent:
    - name: OLD_VARIABLE

a crontab from a file:
  cron.file:
    - name: salt://crontab
    - user: tree-old
    - require: [{user: user that changes}]
