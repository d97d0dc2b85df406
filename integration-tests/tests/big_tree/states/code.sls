# Source trees and Python packages.
{% set git = 'file:///srv/big_tree/fixtures/project.git' %}
git config:
  git.config_set:
    - name: safe.directory
    - value: '*'
    - global: true

clone:
  git.latest:
    - name: {{ git }}
    - target: /opt/code/main
    - branch: main
    - require: [{git: git config}]

clone of a branch:
  git.latest:
    - name: {{ git }}
    - target: /opt/code/next
    - rev: next
    - branch: next
    - require: [{git: git config}]

clone of a tag:
  git.latest:
    - name: {{ git }}
    - target: /opt/code/tag
    - rev: v1.0
    - require: [{git: git config}]

clone that is behind:
  git.latest:
    - name: {{ git }}
    - target: /opt/code/behind
    - rev: main
    - force_reset: true
    - require: [{git: git config}]

clone where something is:
  git.latest:
    - name: {{ git }}
    - target: /etc/big-tree/tree
    - require: [{git: git config}]

clone of nothing:
  git.latest:
    - name: file:///srv/no/such.git
    - target: /opt/code/nothing

only once:
  git.cloned:
    - name: {{ git }}
    - target: /opt/code/cloned
    - branch: next
    - require: [{git: git config}]

detached:
  git.detached:
    - name: {{ git }}
    - target: /opt/code/detached
    - rev: next
    - require: [{git: git config}]

a new repository:
  git.present:
    - name: /opt/code/bare.git
    - bare: true

a setting of a repository:
  git.config_set:
    - name: user.email
    - value: tree@example.com
    - repo: /opt/code/main
    - require: [{git: clone}]

a setting with several values:
  git.config_set:
    - name: remote.origin.extra
    - multivar: [one, two]
    - repo: /opt/code/main
    - require: [{git: clone}]

# Python
an environment:
  virtualenv.managed:
    - name: /opt/venv
    - venv_bin: {{ pillar.virtualenv }}
    - system_site_packages: false

a wheel:
  pip.installed:
    - name: big_tree_wheel == 1.0
    - bin_env: /opt/venv
    - no_index: true
    - find_links: file:///srv/big_tree/fixtures/wheels
    - require: [{virtualenv: an environment}]

several wheels:
  pip.installed:
    - pkgs:
      - big_tree_wheel
      - big_tree_other >= 0.2
    - bin_env: /opt/venv
    - no_index: true
    - find_links: file:///srv/big_tree/fixtures/wheels
    - require: [{pip: a wheel}]

a wheel that is not there:
  pip.installed:
    - name: big_tree_nothing
    - bin_env: /opt/venv
    - no_index: true
    - find_links: file:///srv/big_tree/fixtures/wheels
    - require: [{virtualenv: an environment}]

wheels of a list:
  pip.installed:
    - requirements: salt://requirements.txt
    - bin_env: /opt/venv
    - no_index: true
    - find_links: file:///srv/big_tree/fixtures/wheels
    - require: [{pip: several wheels}]

a wheel that goes:
  pip.removed:
    - name: big_tree_gone
    - bin_env: /opt/venv
    - require: [{virtualenv: an environment}]
