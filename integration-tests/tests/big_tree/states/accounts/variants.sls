# Accounts that change in all ways.
group with members that change:
  group.present:
    - name: tree-changing
    - members: [tree-mover]

group that loses a member:
  group.present:
    - name: tree-losing
    - delusers: [tree-old]

group with contradicting members:
  group.present:
    - name: tree-losing
    - members: [tree-old]
    - addusers: [tree-mover]

group with an id that is taken:
  group.present:
    - name: tree-taken
    - gid: 0

group that is in use:
  group.absent:
    - name: tree-primary

user with another id:
  user.present:
    - name: tree-renumbered
    - uid: 4977
    - allow_uid_change: true

user with another id, not allowed:
  user.present:
    - name: tree-numbered
    - uid: 4978

user with another group:
  user.present:
    - name: tree-regrouped
    - gid: tree-existing
    - allow_gid_change: true

user with another group, not allowed:
  user.present:
    - name: tree-numbered
    - gid: 4801

user with a taken id:
  user.present:
    - name: tree-taken
    - uid: 0

user whose id is shared:
  user.present:
    - name: tree-shared
    - uid: 4950
    - unique: false
    - createhome: false

user with a hash:
  user.present:
    - name: tree-hashed
    - password: '$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/'
    - createhome: false

user whose password stays:
  user.present:
    - name: tree-hashed-before
    - password: '*'
    - enforce_password: false

user whose password is emptied:
  user.present:
    - name: tree-hashed-before2
    - empty_password: true

user whose password is replaced:
  user.present:
    - name: tree-hashed-before3
    - password: '!'

user with a comment of parts:
  user.present:
    - name: tree-gecos
    - fullname: Full Name
    - roomnumber: 7
    - workphone: '123'
    - homephone: '456'
    - other: something

user with groups that are replaced:
  user.present:
    - name: tree-in-groups
    - groups: [tree-db]
    - remove_groups: true

user with an expiry:
  user.present:
    - name: tree-expiring
    - createhome: false
    - date: '20000'
    - expire: 19000
    - maxdays: 30

user without a shell:
  user.present:
    - name: tree-noshell
    - createhome: false
    - home: /nonexistent
    - shell: /bin/false
    - nologinit: true

user with the group of that name:
  user.present:
    - name: tree-usergroup
    - usergroup: true
    - uid: 4990

user of an unknown primary group:
  user.present:
    - name: tree-nogroup
    - gid: no-such-group

{% for name, user in pillar.app.users.items() %}
{{ name }}:
  user.present:
    - uid: {{ user.uid }}
    {%- if user.shell is defined %}
    - shell: {{ user.shell }}
    {%- endif %}
    - groups: {{ user.get('groups', []) | json }}
{% endfor %}

user that is gone with its home:
  user.absent:
    - name: tree-leaver2
    - purge: true
    - force: true

user that is gone, home stays:
  user.absent:
    - name: tree-leaver3

a key with an option that changes:
  ssh_auth.present:
    - name: {{ 'AAAAC3NzaC1lZDI1NTE5AAAAIJab' ~ 'abcdEFGH' * 5 }}
    - enc: ed25519
    - user: tree-keys
    - options: [no-pty]

a comment that changes:
  ssh_auth.present:
    - name: {{ 'AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7' ~ 'abcdEFGH' * 12 }}
    - user: tree-keys
    - comment: new comment

several keys:
  ssh_auth.present:
    - user: tree-keys
    - enc: ssh-rsa
    - names:
      - {{ 'AAAAB3NzaC1yc2EAAAADAQABAAAAgQC8' ~ 'abcdEFGH' * 12 }}
      - {{ 'AAAAB3NzaC1yc2EAAAADAQABAAAAgQC9' ~ 'abcdEFGH' * 12 }}

a key by a whole line, absent:
  ssh_auth.absent:
    - name: ssh-rsa {{ 'AAAAB3NzaC1yc2EAAAADAQABAAAAgQC6' ~ 'abcdEFGH' * 12 }} gone@example.com
    - user: tree-keys

a broken key:
  ssh_auth.present:
    - name: AAAAB3Nzbroken key with words
    - user: tree-keys
    - enc: ssh-rsa

a home with names in it:
  ssh_auth.present:
    - name: {{ 'AAAAC3NzaC1lZDI1NTE5AAAAIJab' ~ 'abcdEFGH' * 5 }}
    - enc: ed25519
    - user: tree-keys
    - config: '%h/keys/%u'

{% set jobs = {
    'every': {'minute': '*/15', 'hour': '*'},
    'month by name': {'month': 'jan', 'dayweek': 'mon'},
    'ranges': {'minute': '1-30/5', 'hour': '8,12,16', 'daymonth': '1-7'},
    'special': {'special': '@daily'},
    'random': {'identifier': 'fixed', 'minute': 7, 'hour': 7},
    'comment of lines': {'comment': "one\ntwo"},
    'number as a job': {'minute': '0'},
} %}
{% for id, job in jobs.items() %}
job {{ id }}:
  cron.present:
    - name: {{ '12345' if id == 'number as a job' else '/usr/local/bin/' ~ id.split()[0] }}
    - user: tree-jobs
    {%- for key, value in job.items() %}
    - {{ key }}: {{ value | json }}
    {%- endfor %}
{% endfor %}

job without identifier:
  cron.present:
    - name: /usr/local/bin/anonymous
    - identifier: false
    - user: tree-jobs

job that was commented out:
  cron.present:
    - name: /usr/local/bin/uncommented
    - identifier: uncommented
    - user: tree-jobs
    - minute: 1

job that becomes special:
  cron.present:
    - name: /usr/local/bin/special
    - identifier: becomes-special
    - special: '@hourly'
    - user: tree-jobs

job with special and minute:
  cron.present:
    - name: /usr/local/bin/contradiction
    - special: '@hourly'
    - minute: 5
    - user: tree-jobs

job of nobody:
  cron.present:
    - name: /bin/true
    - user: no-such-user

special job that is gone:
  cron.absent:
    - name: /usr/local/bin/weekly
    - special: '@weekly'
    - user: tree-jobs

a variable that changes:
  cron.env_present:
    - name: PATH
    - value: /bin:/usr/bin
    - user: tree-jobs

a crontab that is replaced:
  cron.file:
    - name: salt://crontab
    - user: tree-file

a crontab that stays:
  cron.file:
    - name: salt://crontab
    - user: tree-jobs
    - replace: false
