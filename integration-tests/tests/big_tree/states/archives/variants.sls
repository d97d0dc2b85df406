# Archives in other ways.
{% set source = 'salt://archives/app.tar.gz' %}
without modes:
  archive.extracted:
    - name: /opt/unpacked/no-modes
    - source: salt://archives/app.zip
    - extract_perms: false

with a top of its own:
  archive.extracted:
    - name: /opt/unpacked/own-top
    - source: {{ source }}
    - source_hash_update: true
    - source_hash: /srv/big_tree/fixtures/archives/SHA256SUMS

by hash, that changes:
  archive.extracted:
    - name: /etc/big-tree/unpacked
    - source: {{ source }}
    - enforce_ownership_on: /etc/big-tree/unpacked/app-1.0/README
    - user: daemon

with a format:
  archive.extracted:
    - name: /opt/unpacked/format
    - source: {{ source }}
    - archive_format: tar
    - tar_options: --no-same-permissions

a wrong format:
  archive.extracted:
    - name: /opt/unpacked/wrong-format
    - source: {{ source }}
    - archive_format: zip

a format that is none:
  archive.extracted:
    - name: /opt/unpacked/no-format
    - source: {{ source }}
    - archive_format: arj

a file is in the way:
  archive.extracted:
    - name: /etc/big-tree/in-the-way
    - source: {{ source }}

a file is in the way, forced:
  archive.extracted:
    - name: /etc/big-tree/in-the-way2
    - source: {{ source }}
    - force: true

cleaned before:
  archive.extracted:
    - name: /etc/big-tree/clean-before
    - source: {{ source }}
    - clean: true

parents cleaned before:
  archive.extracted:
    - name: /etc/big-tree/clean-parent
    - source: {{ source }}
    - clean_parent: true
    - unless: test -e /etc/big-tree/clean-parent/app-1.0/README

with unzip:
  archive.extracted:
    - name: /opt/unpacked/unzip
    - source: salt://archives/app.zip
    - use_cmd_unzip: true

with options of unzip:
  archive.extracted:
    - name: /opt/unpacked/unzip-options
    - source: salt://archives/app.zip
    - options: -j
    - enforce_toplevel: false
    - if_missing: /opt/unpacked/unzip-options/README

without a path:
  archive.extracted:
    - name: relative/path
    - source: {{ source }}

watched:
  cmd.run:
    - name: echo unpacked
    - onchanges:
      - archive: with a format
