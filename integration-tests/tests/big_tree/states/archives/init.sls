# Archives of every type.
{% for end in ('tar', 'tar.gz', 'tar.bz2', 'tar.xz', 'zip') %}
/opt/archives/{{ end }}:
  archive.extracted:
    - source: salt://archives/app.{{ end }}
    - source_hash: /srv/big_tree/fixtures/archives/SHA256SUMS
{% endfor %}

loose files:
  archive.extracted:
    - name: /opt/archives/loose
    - source: salt://archives/loose.zip
    - enforce_toplevel: false

loose files are refused:
  archive.extracted:
    - name: /opt/archives/loose-refused
    - source: salt://archives/loose.zip

owned:
  archive.extracted:
    - name: /opt/archives/owned
    - source: salt://archives/app.tar.gz
    - user: daemon
    - group: daemon
    - trim_output: 2

stripped:
  archive.extracted:
    - name: /opt/archives/stripped
    - source: salt://archives/app.tar.gz
    - options: --strip-components=1
    - enforce_toplevel: false
    - if_missing: /opt/archives/stripped/README

of a local file:
  archive.extracted:
    - name: /opt/archives/local
    - source: /srv/big_tree/fixtures/archives/app.tar.xz
    - source_hash: /srv/big_tree/fixtures/archives/SHA256SUMS
    - keep_source: false

not all of it:
  archive.extracted:
    - name: /opt/archives/some
    - source: salt://archives/app.tar
    - options: --exclude=app-1.0/private
    - if_missing: /opt/archives/some/app-1.0

over what is there:
  archive.extracted:
    - name: /etc/big-tree/extracted
    - source: salt://archives/app.tar.gz
    - overwrite: true
    - clean: true
    - unless: grep -q 'read me' /etc/big-tree/extracted/app-1.0/README

a wrong hash:
  archive.extracted:
    - name: /opt/archives/wrong
    - source: salt://archives/app.tar.gz
    - source_hash: sha256=0000000000000000000000000000000000000000000000000000000000000000

not an archive:
  archive.extracted:
    - name: /opt/archives/none
    - source: salt://blob.bin

an archive that is not there:
  archive.extracted:
    - name: /opt/archives/missing
    - source: salt://archives/nowhere.tar.gz
