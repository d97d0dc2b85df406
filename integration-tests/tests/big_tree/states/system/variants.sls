# Settings in other ways.
{% for id, sections in (
    ('numbers', {'main': {'a': 1, 'b': 1.5, 'c': true}}),
    ('lists', {'main': {'list': 'a, b'}, 'other': {'key': ''}}),
    ('spaces', {'a section': {'a key': 'a value'}}),
    ('replaced', {'main': {'alpha': 'changed'}}),
    ('top', {'key': 'value'}),
) %}
ini {{ id }}:
  ini.options_present:
    - name: /etc/big-tree/ini/{{ id }}.ini
    - sections: {{ sections | json }}
{% endfor %}

ini with colons:
  ini.options_present:
    - name: /etc/big-tree/ini/colons.ini
    - separator: ':'
    - sections: {main: {alpha: 2, gamma: 3}}

ini, strict:
  ini.options_present:
    - name: /etc/big-tree/ini/strict.ini
    - strict: true
    - sections: {main: {alpha: 1}}

ini without remarks:
  ini.options_present:
    - name: /etc/big-tree/ini/remarks.ini
    - sections: {main: {alpha: 9}}

ini of nothing:
  ini.options_present:
    - name: /etc/big-tree/ini/nothing.ini
    - sections: {}

{% for id, args in (
    ('one', {'ip': '198.51.100.1'}),
    ('list', {'ip': ['198.51.100.2', '198.51.100.3']}),
    ('six', {'ip': '2001:db8::1'}),
    ('comment', {'ip': '198.51.100.4', 'comment': 'a remark'}),
) %}
host {{ id }}:
  host.present:
    - name: {{ id }}.host.example.com
    {%- for key, value in args.items() %}
    - {{ key }}: {{ value | json }}
    {%- endfor %}
{% endfor %}

host of many names:
  host.present:
    - ip: 198.51.100.9
    - names: [many-a, many-b, many-c]

host that is cleaned:
  host.present:
    - name: cleaned.example.com
    - ip: 198.51.100.7
    - clean: true

host that never was:
  host.absent:
    - name: never.example.com
    - ip: 198.51.100.250

only these:
  host.only:
    - name: 198.51.100.60
    - hostnames: only-one

{% for id, args in (
    ('simple', {'name': 'color', 'value': 'green'}),
    ('deep', {'name': 'a:b:c', 'value': 1}),
    ('map', {'name': 'map', 'value': {'x': [1, 2]}, 'force': true}),
    ('replaced', {'name': 'old', 'value': 2}),
    ('conflict', {'name': 'nested', 'value': 'flat'}),
    ('forced', {'name': 'places2', 'value': ['x'], 'force': true}),
    ('delimiter', {'name': 'd/e', 'value': 1, 'delimiter': '/'}),
) %}
grain {{ id }}:
  grains.present: {{ [args] | json }}
{% endfor %}

grain that goes:
  grains.absent:
    - name: nested:drop
    - destructive: true

grain that is emptied:
  grains.absent:
    - name: nested:keep

listed:
  grains.list_present:
    - name: listed
    - value: item

listed deep:
  grains.list_present:
    - name: deep:listed
    - value: [a, b]

not listed:
  grains.list_absent:
    - name: places
    - value: one

alias of several:
  alias.present:
    - name: team
    - target: alice,bob

a setting with blanks:
  sysctl.present:
    - name: net.ipv4.tcp_rmem
    - value: 4096 131072 6291456
    - config: /etc/sysctl.d/91-tree.conf

a setting of a file that is there:
  sysctl.present:
    - name: net.ipv4.tcp_keepalive_time
    - value: 600
    - config: /etc/sysctl.d/there.conf

a mount that is watched:
  mount.mounted:
    - name: /mnt/watching
    - device: watching
    - fstype: tmpfs
    - mkmnt: true
    - watch: [{file: settings of a mount}]

settings of a mount:
  file.managed:
    - name: /etc/big-tree/mount-settings
    - contents: x

unmounted and gone from fstab:
  mount.unmounted:
    - name: /mnt/unwanted
    - device: unwanted
    - persist: true

fstab by other means:
  mount.fstab_present:
    - name: /dev/sdw1
    - fs_file: /mnt/w1
    - fs_vfstype: xfs
    - fs_mntops: [noauto, ro]
    - mount: false

fstab of swap:
  mount.fstab_present:
    - name: /dev/sdw2
    - fs_file: none
    - fs_vfstype: swap
    - mount: false

environment of false:
  environ.setenv:
    - name: BIG_TREE_GONE
    - value: false
    - false_unsets: true

environment of a list:
  environ.setenv:
    - name: BIG_TREE_LIST
    - value: [a]

a log that is rotated:
  file.managed:
    - name: /etc/logrotate.d/tree
    - contents: |
        /var/log/tree.log {
            weekly
        }
