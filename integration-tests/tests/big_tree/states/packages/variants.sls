# Packages asked for in other ways.
names:
  pkg.installed:
    - names: [big-tree-one, big-tree-two]
    - refresh: false
    - require: [{pkgrepo: a repository}]

with a release of a repository:
  pkg.installed:
    - name: big-tree-three
    - fromrepo: stable
    - refresh: false

a version by a pattern:
  pkg.installed:
    - name: big-tree-four
    - version: '1.*'
    - refresh: false

a version above:
  pkg.installed:
    - pkgs:
      - big-tree-five: '>=1.1,<2'
    - refresh: false

a version that is not met:
  pkg.installed:
    - pkgs:
      - big-tree-five: '>3'
    - refresh: false

newer is fine:
  pkg.installed:
    - name: big-tree-newer
    - version: '1.0'
    - allow_updates: true
    - refresh: false

an epoch that is ignored:
  pkg.installed:
    - pkgs:
      - big-tree-lib: 2.4-3
    - ignore_epoch: true
    - refresh: false

installed again:
  pkg.installed:
    - name: big-tree-again
    - reinstall: true
    - onlyif: test ! -e /usr/bin/big-tree-again
    - refresh: false

what is held is updated:
  pkg.installed:
    - name: big-tree-held-before
    - version: '1.1'
    - update_holds: true
    - refresh: false

what is held is not updated:
  pkg.installed:
    - name: big-tree-held-before2
    - version: '1.1'
    - refresh: false

only what is there is upgraded:
  pkg.latest:
    - name: big-tree-upgraded
    - only_upgrade: true
    - refresh: false

upgraded only if there:
  pkg.latest:
    - name: big-tree-absent
    - only_upgrade: true
    - refresh: false

a file of another name:
  pkg.installed:
    - sources:
      - other-name: /srv/big_tree/fixtures/repo/big-tree-file2_5.0_all.deb

a file that is not there:
  pkg.installed:
    - sources:
      - big-tree-file3: /srv/nowhere.deb

sources and packages:
  pkg.installed:
    - pkgs: [big-tree-one]
    - sources: [{big-tree-file: /srv/nowhere.deb}]

removed by version:
  pkg.removed:
    - name: big-tree-versioned
    - version: '9'

purged with settings:
  pkg.purged:
    - pkgs: [big-tree-removed, big-tree-purged2]

downloaded:
  pkg.downloaded:
    - name: big-tree-two
    - refresh: false
    - require: [{pkg: names}]

held by name:
  pkg.held:
    - pkgs: [big-tree-one, big-tree-two]
    - require: [{pkg: names}]

not held:
  pkg.unheld:
    - pkgs: [big-tree-two]
    - require: [{pkg: held by name}]
    - onlyif: 'false'

{% for id, line in (
    ('plain', 'deb http://plain.example.com/debian stable main'),
    ('source', 'deb-src http://source.example.com/debian stable main contrib'),
    ('arch', 'deb [arch=amd64] http://arch.example.com/debian stable main'),
    ('signed', 'deb [signed-by=/usr/share/keyrings/tree.gpg] http://signed.example.com/debian stable main'),
    ('flat', 'deb http://flat.example.com/debian ./'),
) %}
repository {{ id }}:
  pkgrepo.managed:
    - name: {{ line }}
    - file: /etc/apt/sources.list.d/{{ id }}.list
    - refresh: false
{% endfor %}

repository that changes:
  pkgrepo.managed:
    - name: deb http://changing.example.com/debian stable main contrib
    - file: /etc/apt/sources.list.d/changing.list
    - refresh: false

repository that is enabled:
  pkgrepo.managed:
    - name: deb http://disabled.example.com/debian stable main
    - file: /etc/apt/sources.list.d/disabled.list
    - disabled: false
    - refresh: false

repository with remarks:
  pkgrepo.managed:
    - name: deb http://remarks.example.com/debian stable main
    - file: /etc/apt/sources.list.d/remarks.list
    - comments: [first, second]
    - refresh: false

repository without a file:
  pkgrepo.managed:
    - name: deb http://nofile.example.com/debian stable main
    - refresh: false

repository of parts:
  pkgrepo.managed:
    - humanname: of parts
    - name: deb http://parts.example.com/debian stable main
    - dist: stable
    - comps: main,contrib
    - file: /etc/apt/sources.list.d/parts.list
    - refresh: false

repository that is no line:
  pkgrepo.managed:
    - name: nonsense
    - refresh: false

repository that goes:
  pkgrepo.absent:
    - name: deb http://changing2.example.com/debian stable main
    - refresh: false

repository that never was:
  pkgrepo.absent:
    - name: deb http://never.example.com/debian stable main
    - refresh: false
