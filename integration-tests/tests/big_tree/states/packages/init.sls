# Repositories and packages, with a package manager that is apt.
a repository:
  pkgrepo.managed:
    - name: deb [trusted=yes] file:/srv/big_tree/fixtures/repo ./
    - file: /etc/apt/sources.list.d/big-tree.list
    - humanname: The big tree
    - refresh: true

another repository:
  pkgrepo.managed:
    - name: deb [arch=amd64] http://deb.example.com/debian stable main contrib
    - file: /etc/apt/sources.list.d/other.list
    - comments: not in use
    - disabled: true
    - refresh: false

a repository that is gone:
  pkgrepo.absent:
    - name: deb [trusted=yes] file:/srv/big_tree/fixtures/old-repo ./
    - refresh: false

a package:
  pkg.installed:
    - name: big-tree-app
    - refresh: false
    - require: [{pkgrepo: a repository}]

packages:
  pkg.installed:
    - pkgs:
      - big-tree-tool: 1.2-1
      - big-tree-lib
    - refresh: false
    - require: [{pkgrepo: a repository}]

a package that is there:
  pkg.installed:
    - name: coreutils

a version with a condition:
  pkg.installed:
    - pkgs:
      - big-tree-base: '>=1.0'

a package of a file:
  pkg.installed:
    - sources:
      - big-tree-file: /srv/big_tree/fixtures/repo/big-tree-file_5.0_all.deb

a held package:
  pkg.installed:
    - name: big-tree-held
    - version: '1.0'
    - hold: true

packages that nobody has:
  pkg.installed:
    - pkgs: [no-such-package, big-tree-tool]

a version that nobody has:
  pkg.installed:
    - name: big-tree-tool
    - version: 9.9-1

the latest:
  pkg.latest:
    - name: big-tree-old
    - refresh: false

the latest of several:
  pkg.latest:
    - pkgs: [big-tree-base, big-tree-lib]
    - refresh: false

the latest of nothing:
  pkg.latest:
    - name: no-such-package
    - refresh: false

removed:
  pkg.removed:
    - name: big-tree-gone

removed already:
  pkg.removed:
    - pkgs: [no-such-package, neither-this]

purged:
  pkg.purged:
    - name: big-tree-purged

not held any more:
  pkg.unheld:
    - name: big-tree-tool

held:
  pkg.held:
    - name: big-tree-lib
    - require: [{pkg: packages}]

settings of a package:
  debconf.set:
    - name: big-tree-app
    - data:
        big-tree-app/port: {type: string, value: 8080}
    - require: [{pkg: a package}]

settings from a file:
  debconf.set_file:
    - source: salt://answers.debconf
