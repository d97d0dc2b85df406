# file.serialize: formats, merges, options.
{% for format in ('yaml', 'json', 'configparser', 'plist') %}
/opt/serialized/{{ format }}:
  file.serialize:
    - formatter: {{ format }}
    - makedirs: true
    - dataset:
        {%- if format in ('configparser',) %}
        main: {name: tree, port: 80}
        {%- else %}
        name: tree
        list: [1, two, 3.5]
        map: {inner: true, text: "a 'quoted' text", umlaut: "ä"}
        {%- endif %}
{% endfor %}

serialized pillar:
  file.serialize:
    - name: /opt/serialized/pillar.json
    - dataset_pillar: app
    - formatter: json
    - mode: '0600'
    - user: daemon

serialized and merged:
  file.serialize:
    - name: /etc/big-tree/merge.json
    - merge_if_exists: true
    - formatter: json
    - dataset:
        added: 1
        deep: {two: 2}

serialized and merged yaml:
  file.serialize:
    - name: /etc/big-tree/merge.yaml
    - merge_if_exists: true
    - formatter: yaml
    - dataset:
        deep: {two: 2}

serialized with options:
  file.serialize:
    - name: /opt/serialized/options.json
    - formatter: json
    - serializer_opts:
      - indent: 4
      - sort_keys: false
    - dataset: {b: 1, a: [1, 2], c: {}}

serialized yaml with options:
  file.serialize:
    - name: /opt/serialized/options.yaml
    - formatter: yaml
    - serializer_opts:
      - default_flow_style: true
      - explicit_start: true
    - dataset: {b: 1, a: [1, 2]}

serialized with the short name:
  file.serialize:
    - name: /opt/serialized/short.yaml
    - serializer: yaml
    - dataset: [one, two, {three: 3}]

serialized by nobody:
  file.serialize:
    - name: /opt/serialized/none
    - formatter: no-such-format
    - dataset: {a: 1}

serialized without data:
  file.serialize:
    - name: /opt/serialized/nothing
    - formatter: json
