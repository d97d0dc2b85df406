"""The cases: texts, SLS files and functions. Our own texts."""

GRAINS = {
    "id": "web01", "os": "Debian", "os_family": "Debian", "osmajorrelease": 12, "oscodename": "bookworm",
    "osrelease": "12.5", "osfinger": "Debian-12", "kernel": "Linux", "num_cpus": 4, "mem_total": 3902, "virtual": "kvm",
    "ipv4": ["10.0.0.5", "127.0.0.1"], "ipv6": ["::1", "fe80::1"], "fqdn": "web01.example.com",
    "ip_interfaces": {"lo": ["127.0.0.1", "::1"], "eth0": ["10.0.0.5", "fe80::1"]},
    "roles": ["web", "db"], "meta": {"dc": "ams", "rack": {"row": 3}},
}
PILLAR = {
    "app": {"lookup": {"pkg": "app-server", "opts": {"level": 3, "tags": ["a", "b"]}}, "port": 8080, "debug": False},
    "users": {"ann": {"uid": 1001, "groups": ["wheel", "dev"]}, "bob": {"uid": 1002}},
    "motd": "first\nsecond\n", "empty": {}, "list": [1, "two", 3.5, None, True], "secret": "s3cr3t", "nothing": None,
}
OPTS = {"master_tops": {}, "custom": {"key": ["v"]}}

# Files of the environment base.
FILES = {
    "map.jinja": "{% set base = {'pkg': 'base', 'conf': '/etc/app'} %}\n{% set app = salt['grains.filter_by']({'Debian': {'pkg': 'app-deb', 'opts': {'level': 1, 'x': 1}}, 'RedHat': {'pkg': 'app-rpm'}}, merge=salt['pillar.get']('app:lookup')) %}\n",
    "macros.jinja": "{% macro line(key, value='none') %}{{ key }}={{ value }}{% endmacro %}\n{% macro os() %}{{ grains.os }}{% endmacro %}\n{% macro wrap(tag) %}<{{ tag }}>{{ caller() }}</{{ tag }}>{% endmacro %}\n{% set version = '1.2' %}\n",
    "data.yaml": "a: 1\nb: [x, y]\nc:\n  d: 0644\n  e: yes\n  os: {{ grains.os }}\n",
    "data.json": '{"a": 1, "b": [1.5, null, true], "c": {"d": "e"}}',
    "data.txt": "plain {{ 1 + 1 }} text\n",
    "where.jinja": "{% set where = tplfile ~ '|' ~ tpldir ~ '|' ~ tpldot %}",
    "context.jinja": "{{ local | default('unset') }}",
    "f/init.sls": "{% from 'f/map.jinja' import f with context %}\nf:\n  test.nop:\n    - name: {{ f.name }}\n    - dir: {{ tpldir }}\n    - file: {{ tplfile }}\n    - dot: {{ slsdotpath }}\n    - path: {{ slspath }}\n    - colon: '{{ slscolonpath }}'\n    - under: {{ sls_path }}\n    - sls: {{ sls }}\n    - env: {{ saltenv }}\n",
    "f/map.jinja": "{% set f = {'name': 'f-' ~ grains.os, 'dir': tpldir} %}",
    "f/rel.sls": "{% from './map.jinja' import f %}\n{% import '../macros.jinja' as m %}\nrel: {{ f.name }} {{ m.line('k', 2) }} {{ tpldir }}\n",
    "f/deep/er/init.sls": "{% set tplroot = tpldir.split('/')[0] %}\n{% from tplroot ~ '/map.jinja' import f %}\ndeep: {{ tplroot }} {{ f.dir }} {{ tpldir }} {{ slsdotpath }} {{ sls }}\n",
    "f/inc.sls": "{% set local = 'here' %}\na: '{% include 'context.jinja' %}'\nb: '{% include 'context.jinja' without context %}'\nc: '{% include 'none.jinja' ignore missing %}'\n",
    "f/where.sls": "{% import 'where.jinja' as w %}\na: {{ w.where }}\nb: {{ tplfile }} {{ tpldir }}\n{% import 'f/w2.jinja' as w2 %}\nc: {{ w2.where }}\n",
    "f/w2.jinja": "{% set where = tplfile ~ '|' ~ tpldir ~ '|' ~ tpldot %}",
    "loop_a.jinja": "{% import 'loop_b.jinja' as b %}{% set x = 1 %}",
    "loop_b.jinja": "{% import 'loop_a.jinja' as a %}{% set x = 1 %}",
    "broken.jinja": "ok\n{% set x = nope.a %}\n",
    "brokensyntax.jinja": "ok\n{% if %}\n",
    "brokenmacro.jinja": "{% macro outer(x) %}\n  {{ inner(x) }}\n{% endmacro %}\n{% macro inner(x) %}\n  {{ x.name.first }}\n{% endmacro %}\n",
    "core/defaults.yaml": "users:\n  root: 0\n  list: [1, 2]\nport: 22\n",
    "json/defaults.json": '{"k": "v"}',
    "tmpl.txt": "{{ grains.id }} {{ x | default('-') }}\n",
}

# An SLS file each: (name, text).
SLS = [
    ("plain", "a:\n  test.nop:\n    - x: 1\n"),
    ("empty", ""), ("blank", "  \n\n"), ("comment", "# nothing\n"), ("jcomment", "{# nothing #}\n"),
    ("list", "- a\n- b\n"), ("text", "just text\n"), ("number", "12\n"), ("false", "false\n"), ("null", "~\n"),
    ("crlf", "a: {{ 1 + 1 }}\r\nb: |\r\n  x\r\n  y\r\n"),
    ("unicode", "größe: {{ 'ß' | upper }}\n☃: snow\n"),
    ("nl", "a: |\n  {{ pillar.motd | indent(2) }}\n"),
    ("dict", "a: {{ pillar.app }}\nb: {{ pillar.list }}\nc: {{ grains.meta }}\n"),
    ("json", "#!json\n{\"a\": [1, 2.5, null, true, \"x\"], \"b\": {}}\n"),
    ("jjson", "#!jinja|json\n{\"n{{ 1 + 1 }}\": {{ [1, 'a'] | json }} }\n"),
    ("emptyjson", "#!json\n"),
    ("badjson", "#!json\n{\"a\": }\n"),
    ("yamlonly", "#!yaml\na: '{{ 1 }}'\nb: \"{% if %}\"\n"),
    ("jyaml", "#!jinja | yaml\na: {{ 2 * 3 }}\n"),
    ("old", "#!yaml_jinja\na: {{ 2 * 3 }}\n"),
    ("jinjaonly", "#!jinja\na {{ 1 }}\n"),
    ("shell", "#!/bin/sh\na: {{ 1 }}\n"),
    ("badopt", "#!jinja -x|yaml\na: 1\n"),
    ("header", "#jinja2: {\"trim_blocks\": true, \"lstrip_blocks\": true}\na:\n  {% if true %}\n  b: 1\n  {% endif %}\n"),
    ("header2", "#!jinja|yaml\n#jinja2: {\"variable_start_string\": \"<<\", \"variable_end_string\": \">>\"}\na: << 1 + 1 >> \nb: '{{ x }}'\n"),
    ("header3", "#jinja2: {\"line_statement_prefix\": \"%\"}\n% for i in [1, 2]\nk{{ i }}: {{ i }}\n% endfor\n"),
    ("header4", "#jinja2: nonsense\na: 1\n"),
    ("loop", "{% for u, d in pillar.users.items() %}\n{{ u }}:\n  user.present:\n    - uid: {{ d.uid }}\n    - groups: {{ d.get('groups', []) }}\n{% endfor %}\n"),
    ("map", "{% from 'map.jinja' import app with context %}\n{{ app.pkg }}:\n  pkg.installed: []\nlevel: {{ app.opts.level }} {{ app.opts.x | default('none') }}\n"),
    ("impyaml", "{% import_yaml 'data.yaml' as d %}\na: {{ d.a }} {{ d.b }} {{ d.c.d }} {{ d.c.e }} {{ d.c.os }}\n"),
    ("impjson", "{% import_json 'data.json' as d %}\na: {{ d }}\n"),
    ("imptext", "{% import_text 'data.txt' as d %}\na: {{ d }}\n"),
    ("macros", "{% import 'macros.jinja' as m %}\na: {{ m.line('k') }}\nb: {{ m.os() }}\nc: {% call m.wrap('b') %}x{% endcall %}\n\nd: {{ m.version }}\n"),
    ("fromctx", "{% set local = 1 %}{% from 'context.jinja' import nothing %}\na: 1\n"),
    ("do", "{% set l = [] %}{% for i in range(3) %}{% do l.append(i * 2) %}{% endfor %}\na: {{ l }}\n"),
    ("ns", "{% set ns = namespace(n=0) %}{% for i in [1, 2, 3] %}{% set ns.n = ns.n + i %}{% endfor %}\na: {{ ns.n }}\n"),
    ("break", "{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}\nk{{ i }}: 1{% endfor %}\n"),
    ("loadyaml", "{% load_yaml as d %}\na: 1\nb: [x]\n{% endload %}\nc: {{ d.b }} {{ d.a }}\n"),
    ("loadjson", "{% load_json as d %}{\"a\": 1}{% endload %}\nc: {{ d.a }}\n"),
    ("loadtext", "{% load_text as d %}two\nlines{% endload %}\nc: {{ d | yaml_dquote }}\n"),
    ("profile", "{% profile as 'x' %}{% set a = 1 %}a: {{ a }}{% endprofile %}\n"),
    ("salt", "a: {{ salt['grains.get']('meta:dc') }}\nb: {{ salt.grains.get('meta:rack:row') }}\nc: {{ salt['pillar.get']('app:port') }}\nd: {{ salt['pillar.get']('no:pe', 'dflt') }}\ne: {{ salt['config.get']('custom:key') }}\nf: {{ salt['test.echo']('x') }}\n"),
    ("saltpillar", "a: {{ salt['pillar.get']('secret') }}\nb: {{ pillar.secret }}\nc: {{ salt['pillar.item']('secret', 'app') }}\n"),
    ("merge", "{% set d = {'a': {'b': 1}} %}{% do salt['defaults.merge'](d, {'a': {'c': 2}}) %}\nd: {{ d }}\n{% set e = salt['slsutil.merge']({'x': [1]}, {'x': [2]}, merge_lists=True) %}\ne: {{ e }}\n"),
    ("update", "{% set g = {'h1': {'i': 1}, 'h2': {}} %}{% do salt['defaults.update'](g, {'on': True, 'l': ['x']}) %}\ng: {{ g }}\n"),
    ("ctxnames", "a: {{ sls }} {{ saltenv }} {{ tplfile }} {{ tpldir }} '{{ tpldot }}' '{{ slspath }}'\n"),
    ("opts", "a: {{ opts.id }} {{ opts['file_client'] }} {{ opts.get('nope', 'd') }} {{ 'pillar' in opts }} {{ 'grains' in opts }}\n"),
    ("fullctx", "{% set c = show_full_context() %}\na: {{ c.sls }} {{ 'salt' in c }} {{ 'grains' in c }} {{ 'pillar' in c }}\n"),
    ("ifelse", "a: {{ ifelse('Debian' == grains.os, 'd', 'other') }}\n"),
    ("anchors", "x: &x\n  a: 1\ny:\n  <<: *x\n  b: 2\n"),
    ("yamltypes", "a: 0644\nb: 1_000\nc: 1:30\nd: 0x1F\ne: 1e3\nf: 1.0e+3\ng: yes\nh: 2020-01-01\ni: ~\nj: .inf\nk: =\nl: 007\nm: 08\nn: off\n"),
    ("py_data", "#!py\ndef run():\n    return {'a': {'test.nop': [{'g': __grains__['os']}, {'p': __pillar__['app']['port']}]}}\n"),
    ("py_names", "#!py\nimport os\ndef helper():\n    return saltenv\ndef run():\n    return {'a': [sls, helper(), __sls__, __env__, grains['os'], pillar['secret'], opts['id'], __opts__['id']]}\n"),
    ("py_salt", "#!py\ndef run():\n    r = {'a': __salt__['test.echo']('x'), 'b': salt['grains.get']('meta:dc'), 'c': 'no.such' in __salt__, 'd': __salt__['pillar.get']('users:ann:uid')}\n    for u, d in sorted(__pillar__['users'].items()):\n        r[u] = {'user.present': [{'uid': d['uid']}]}\n    return r\n"),
    ("py_kinds", "#!py\ndef run():\n    return {'i': 2**40, 'f': 1.5, 't': (1, 2), 'n': None, 'b': True, 'l': [{}], 'u': 'ß'}\n"),
    ("py_yaml", "#!jinja|py\ndef run():\n    return {'a': '{{ 1 }}'}\n"),
    ("py_after", "#!py|yaml\ndef run():\n    return 'a: 1'\n"),
    ("py_key", "#!py\ndef run():\n    return {}['x']\n"), ("py_none", "#!py\nx = 1\n"), ("py_cee", "#!py\ndef run():\n    return __salt__['test.exception']('x')\n"),
    # What goes wrong.
    ("e_undef", "a: 1\nb: {{ missing }}\nc: 3\n"),
    ("e_attr", "a: {{ grains.nope.deeper }}\n"), ("e_key", "a: {{ pillar['nokey'] }}\n"), ("e_pattr", "a: {{ pillar.app.nope }}\n"),
    ("e_optattr", "a: {{ opts.nope }}\n"),
    ("e_idx", "a: {{ [1][4] }}\n"), ("e_str", "a: {{ 'x'.nope }}\n"), ("e_call", "a: {{ pillar.app() }}\n"),
    ("e_fun", "a: {{ salt['no.such']() }}\n"), ("e_fun2", "a: {{ salt.no.such() }}\n"), ("e_fun3", "a: {{ salt.test.nosuch() }}\n"),
    ("e_cmd", "a: {{ salt['test.exception']('boom') }}\n"),
    ("e_ceerr", "a: {{ salt['slsutil.deserialize']('nope', 'x') }}\n"),
    ("e_args", "a: {{ salt['test.echo']() }}\n"), ("e_kw", "a: {{ salt['test.echo']('x', y=1) }}\n"),
    ("e_type", "a: {{ 1 + 'x' }}\n"), ("e_div", "a: {{ 1 / 0 }}\n"), ("e_raise", "a: {{ raise('told you') }}\n"),
    ("e_filter", "a: {{ 1 | nofilter }}\n"), ("e_test", "a: {{ 1 is notest }}\n"), ("e_tag", "{% foo %}\n"),
    ("e_end", "{% if true %}\na: 1\n"), ("e_end2", "a: 1\n{% endif %}\n"), ("e_expr", "a: {{ 1 + }}\n"), ("e_brace", "a: {{ 1 }\n"), ("e_brace2", "a: {{ {'a': 1 }}\n"),
    ("e_quote", "a: {{ 'x }}\n"), ("e_for", "{% for x %}{% endfor %}\n"), ("e_eq", "{% if a = 1 %}{% endif %}\n"), ("e_comment", "a: {# never\n"), ("e_raw", "{% raw %}\n"),
    ("e_import", "{% from 'nothing.jinja' import x %}\n"), ("e_import2", "a: 1\n{% import 'dir/nothing.jinja' as x %}\n"),
    ("e_name", "{% from 'macros.jinja' import nope %}\na: {{ nope }}\n"),
    ("e_inimport", "a: 1\n{% import 'broken.jinja' as x %}\n"), ("e_insyntax", "a: 1\n{% import 'brokensyntax.jinja' as x %}\n"),
    ("e_inmacro", "{% import 'brokenmacro.jinja' as m %}\na: {{ m.outer({}) }}\n"),
    ("e_owninmacro", "{% macro m(x) %}\n  {{ x.a.b }}\n{% endmacro %}\nz: 1\na: {{ m({}) }}\n"),
    ("e_up", "{% import '../../x.jinja' as x %}\n"),
    ("e_sandbox", "a: {{ ''.__class__ }}\n"), ("e_sandbox2", "a: {{ pillar.__class__.__mro__ }}\n"), ("e_range", "{% for i in range(999999999) %}{% endfor %}\n"),
    ("e_long", "\n".join("l%d: %d" % (i, i) for i in range(12)) + "\nbad: {{ nope }}\n" + "\n".join("m%d: %d" % (i, i) for i in range(12)) + "\n"),
    ("e_yimport", "{% import_yaml 'nothing.yaml' as x %}\n"), ("e_loadyaml", "{% load_yaml as x %}\na: [1\n{% endload %}\n"), ("e_loadjson", "{% load_json as x %}{\"a\"{% endload %}\n"),
    ("y_tab", "a:\n\tb: 1\n"), ("y_map", "a: b: c\n"), ("y_flow", "a: [1, 2\nb: 3\n"), ("y_dup", "a: 1\nb: 2\na: 3\n"), ("y_dup2", "x:\n  a: 1\n  a: 2\n"),
    ("y_alias", "a: *nope\n"), ("y_docs", "a: 1\n---\nb: 2\n"), ("y_curly", "a: {{{'b': 1}}: 2}\n".replace("{{{", "{{'{'}}{").replace("}}:", "}:")), ("y_mapkey", "{a: 1}: 2\n"), ("y_listkey", "[a, b]: 2\n"),
    ("y_tag", "a: !foo 1\n"), ("y_pytag", "a: !!python/object:x {}\n"), ("y_indent", "a:\n  b: 1\n c: 2\n"), ("y_quote", "a: 'x\n"), ("y_dquote", "a: \"\\q\"\n"), ("y_percent", "a: %x\n"), ("y_at", "a: @x\n"), ("y_tick", "a: `x\n"),
    ("y_colon", "a:\n  - b\n  c: 1\n"), ("y_mergebad", "a:\n  <<: 1\n"), ("y_bell", "a: \x07\n"), ("y_anchor", "a: &x &y 1\n"), ("y_block", "a: |\n  x\n y\n"),
]

# Expressions: each becomes `{{ ... }}` rendered as Jinja alone.
EXPRESSIONS = r"""
1040814000 | strftime('%Y-%m-%d %H:%M')
'1040814000' | strftime
0 | date_format('%d/%m/%y %j %U %w %a %A %b %B %p %I %-d')
1.5 | strftime('%f %S')
'rubbish' | strftime
[] | strftime
{'a': [{'b': 1}, {'b': 2}]} | json_query('a[].b')
{'a': [{'b': 1, 'c': 'x'}, {'b': 2, 'c': 'y'}]} | json_query("a[?b > `1`].c | [0]")
{'a': {'x': 1, 'y': 2}} | json_query('a.* | sum(@)')
[3, 1, 2] | json_query('sort(@)')
[{'n': 'b', 'v': 1}, {'n': 'a', 'v': 2}] | json_query('sort_by(@, &n)[*].v')
{'a': 1} | json_query('b')
{'a': 1} | json_query('a[')
{'a': 'x'} | json_query('abs(a)')
{'a': [1, 2, 3, 4]} | json_query('a[1:3]')
{'a': [1, 2, 3, 4]} | json_query('a[::-1]')
{'a': [[1, 2], [3]]} | json_query('a[]')
{'a': [[1, 2], [3]]} | json_query('a[*][0]')
{'a': {'b': {'c': 5}}} | json_query('a.b.c')
{'a': 1, 'b': 2} | json_query('{x: a, y: b, z: c}')
{'a': 1, 'b': 2} | json_query('[a, b, c]')
{'a': 1} | json_query("a == `1` && 'yes' || 'no'")
['abc', 'abd', 'x'] | json_query("[?starts_with(@, 'ab')]")
{'s': 'text'} | json_query('length(s)')
{'l': ['a', 'b']} | json_query("join(', ', l)")
{'l': [1, 2, 3, 4]} | json_query('avg(l)')
{'l': [1, 2, 3, 4]} | json_query('max(l)')
{'l': []} | json_query('max(l)')
{'a': None, 'b': 1} | json_query('not_null(a, b)')
{'a': {'b': 1}} | json_query('to_string(a)')
{'a': '12'} | json_query('to_number(a)')
{'a': 1} | json_query('type(a)')
{'a': 1} | json_query('nope(a)')
{'a': 1} | json_query('keys(@)')
{'a': 1} | json_query('!a')
{'a': 0} | json_query('a || `5`')
{'"q"': 1} | json_query('"\\"q\\""')
{'a': [{'b': [{'c': 1}, {'c': 2}]}, {'b': [{'c': 3}]}]} | json_query('a[*].b[*].c')
{'a': [{'b': [{'c': 1}, {'c': 2}]}, {'b': [{'c': 3}]}]} | json_query('a[].b[].c')
{'a': [{'t': 'x', 'n': 1}, {'t': 'y', 'n': 2}]} | json_query("a[?t == 'x' || n == `2`].n")
{'a': [{'k': 'v'}]} | json_query('merge(a[0], {z: `1`})')
{'a': [1, 5, 3]} | json_query('a[?@ >= `3`]')
{'a': [{'n': 1}, {'n': 7}]} | json_query('max_by(a, &n).n')
{'a': ['x', 'y']} | json_query("contains(a, 'x')")
{'a': 'xyz'} | json_query("contains(a, 'y')")
{'a': 'xyz'} | json_query('reverse(a)')
{'a': [1, 2]} | json_query('map(&@, a)')
{'a': 2.5} | json_query('ceil(a)')
{'a': 2.5} | json_query('floor(a)')
{'a': 1} | json_query('a.b.c.d')
{'a': {'b': [1, 2]}} | json_query('*.b')
{'a': {'b': [1, 2]}} | json_query('*.b[]')
{'a': 1} | json_query("'raw'")
{'a': 1} | json_query('`{"x": 1}`')
{'a': 1} | json_query('@')
{'a': 1} | json_query('')
range(10) | list | random_shuffle(seed='x')
range(100) | list | random_sample(5, seed='minion-7')
range(100) | list | random_sample(60, 'ü')
['a', 'b', 'c', 'd'] | random_sample(2, '')
range(10) | list | random_shuffle(seed=3)
['10.0.0.1', '8.8.8.8', '::1', 'fe80::1', 'x'] | ipaddr
['10.0.0.1', '8.8.8.8', '::1', '127.0.0.1'] | ipv4('private')
['10.0.0.1', '8.8.8.8', '::1', '127.0.0.1'] | ipv4('global')
['10.0.0.1', '127.0.0.1'] | ipv4('private, loopback')
['::1', 'fe80::1', 'fec0::1', '2001:db8::1', '2a00::1'] | ipv6('global')
['::1', 'fe80::1', 'fec0::1'] | ipv6('link-local')
'10.0.0.5/24' | ipv4
'10.0.0.5/24' | ip_host
['10.0.0.5', '::1'] | ip_host
'10.0.0.0/29' | network_hosts
['10.0.0.0/30', 'fe80::/126'] | network_hosts
'10.0.0.0/8' | network_size
['10.0.0.0/8', '::/64'] | network_size
'x' | network_hosts
'10.0.0.1' | is_ipv4('loopback')
'240.0.0.1' | ipv4('reserved')
7 | ipv4
range(100) | list | random_sample(5, seed=7)
['a', 'b', 'c', 'd'] | random_sample(2, seed=-1)
[1, 2, 3] | random_shuffle(0)
range(50) | list | random_sample(50, 1234567890123)
[1] | random_sample(4, seed=1)
'/no/such/file' | is_empty
'/no/such/file' | is_bin_file
'/no/such/file' | is_text_file
'/no/such/file' | file_hashsum
'/etc/passwd' | file_hashsum('nonsense')
'no-such-program-at-all' | which
'sh' | which is not none
'root' | get_uid
'no-such-user-at-all' | get_uid
'AC:DE:48' | gen_mac | length
16 | random_str | length
'x' | random_hash
100 | random_hash('sha256') | length
1000 | rand_str('nope')
['+---+---+', '| id | name |', '+---+---+', '| 1 | ann |', '| 2 | bob |', '+---+---+'] | mysql_to_dict('name')
['| a |', '| 1.5 |'] | mysql_to_dict('a')
['10.0.0.5', '192.168.1.1', 'fe80::1'] | filter_by_networks(['10.0.0.0/8', 'fe80::/64'])
grains.ip_interfaces | filter_by_networks(['127.0.0.0/8'])
grains.ipv4 | filter_by_networks(none)
grains.ipv4 | filter_by_networks([])
grains.ipv4 | filter_by_networks(['10.0.0.5/8'])
grains.ipv4 | filter_by_networks(['nonsense'])
7 | filter_by_networks(['10.0.0.0/8'])
{'root': {'a': 1, 'b': {'c': 'x'}}} | xml
{'root': [{'a': 1}, {'a': 2}]} | xml
{'root': {'item': ['x', 'y'], 'k': 'v'}} | xml
{'root': 'te<x>t & "q"'} | xml
{'root': {'q': 'a"b<c'}} | xml
7 | xml
'127.0.0.1' | dns_check(1)
'text' | md5
'text' | sha256
'text' | sha512 | length
'text' | hmac_compute('k')
'text' | uuid
'text' | base64_encode
{'a': {'b': 1}} | yaml
{'a': {'b': [1, 2]}} | yaml(False)
{'b': 1, 'a': none, 'c': true} | json
pillar.app | tojson
pillar.list | yaml_encode
'a: b' | yaml_encode
'it' | yaml_squote
'a\nb' | yaml_dquote
'- 1\n- 2' | load_yaml
'{"a": 1}' | load_json
pillar | traverse('app:lookup:opts:level')
pillar | traverse('app:no:pe', 'd')
'a=1 b=2' | regex_search('b=(\\d)')
'abc' | regex_match('a(.)c')
'a1b2' | regex_replace('[0-9]', '#')
['b', 'a', 'b'] | unique
[1, [2, [3]]] | flatten
'yes' | to_bool
'2G' | human_to_bytes
'1.5' | to_num
{'a': 1} | dict_to_sls_yaml_params
{'a': 1} | to_entries
grains.ipv4 | ipv4('10.0.0.0/8')
'10.0.0.0/30' | network_hosts
'::1' | is_ip
'SomeCamelText' | to_snake_case
'some_text' | to_camelcase
pillar.app.port + 1
grains.os ~ '-' ~ grains.osmajorrelease
'%s-%03d' % ('a', 7)
salt['test.echo']([1, {'a': 'b'}])
salt['test.arg'](1, 'a', k=[2])
salt['grains.filter_by']({'Debian': 'd', 'RedHat': 'r'})
salt['grains.filter_by']({'a': 1, 'default': 2}, grain='nope', default='default')
salt['grains.filter_by']({'12': 'twelve'}, grain='osmajorrelease')
salt['grains.get']('roles')
salt['grains.get']('meta:rack')
salt['grains.get']('nope', 'd')
salt['pillar.get']('users:ann:groups:0')
salt['pillar.get']('app', {'port': 1, 'new': 2}, merge=True)
salt['pillar.get']('nothing', 'dflt')
salt['pillar.keys']('users')
salt['pillar.keys']('nope')
salt['pillar.item']('motd')
salt['pillar.ls']() | sort
salt['pillar.filter_by']({'x': 1, 'default': 3}, pillar='nope')
salt['config.get']('app:port')
salt['config.get']('os')
salt['config.get']('nope', 'd')
salt['config.option']('custom')
salt['match.grain']('os:Debian')
salt['match.compound']('G@os:Debian and not web02')
salt['match.glob']('web*')
salt['match.pillar']('app:port:8080')
salt['match.filter_by']({'web*': 'w', 'db*': 'd'})
salt['slsutil.boolstr'](true, 'on', 'off')
salt['slsutil.boolstr']([], 'on', 'off')
salt['slsutil.merge']({'a': {'b': 1}}, {'a': {'c': 2}})
salt['slsutil.merge']({'a': {'b': 1}, 'l': [1]}, {'a': {'c': 2}, 'l': [2]}, strategy='overwrite')
salt['slsutil.merge']({'a': {'b': 1}, 'l': [1]}, {'a': {'c': 2}, 'l': [2]}, strategy='aggregate')
salt['slsutil.merge']({'a': 1, 'x': 0}, {'a': 2}, strategy='list')
salt['slsutil.merge']([1], [2], strategy='aggregate')
salt['slsutil.merge']({'a': 1}, 'x')
salt['slsutil.merge_all']([{'a': 1}, {'b': 2}, {'a': 3}])
salt['slsutil.update']({'a': {'b': 1}}, {'a': {'c': 2}})
salt['slsutil.serialize']('json', {'b': 1, 'a': 'ß'})
salt['slsutil.serialize']('json', {'b': 1, 'a': [1]}, indent=2, sort_keys=True)
salt['slsutil.serialize']('yaml', {'b': [1, 2], 'a': {'x': 'y'}}, default_flow_style=False)
salt['slsutil.serialize']('yaml', {'b': [1, 2], 'a': {'x': 'y'}})
salt['slsutil.serialize']('yaml', 'x')
salt['slsutil.serialize']('configparser', {'s': {'K': 'v', 'n': 1}})
salt['slsutil.deserialize']('json', '{"a": [1, 2.5]}')
salt['slsutil.deserialize']('yaml', 'a: [1, yes, 0644]')
salt['slsutil.deserialize']('configparser', '[s]\nk = v\n')
salt['slsutil.deserialize']('json', '{')
salt['slsutil.serialize']('nope', 1)
salt['slsutil.banner']()
salt['slsutil.banner'](width=40, title='T', text='Some words that are wrapped at the width of the banner', newline=True)
salt['slsutil.banner'](commentchar=' *', borderchar='*', blockstart='/**', blockend=' */')
salt['slsutil.banner'](commentchar='//', title='odd', width=33)
salt['slsutil.banner'](width=3)
salt['slsutil.file_exists']('map.jinja')
salt['slsutil.file_exists']('f')
salt['slsutil.dir_exists']('f/deep')
salt['slsutil.path_exists']('f/deep')
salt['slsutil.path_exists']('nope')
salt['slsutil.findup']('f/deep/er', 'map.jinja')
salt['slsutil.findup']('f/deep/er/init.sls', ['x', 'core'])
salt['slsutil.findup']('', 'map.jinja')
salt['slsutil.findup']('nope', 'map.jinja')
salt['slsutil.findup']('f', 'nothing-here')
salt['slsutil.renderer']('salt://data.yaml')
salt['slsutil.renderer']('salt://data.txt', default_renderer='jinja')
salt['slsutil.renderer'](string='{{ x }}-{{ saltenv }}', default_renderer='jinja', x=5)
salt['slsutil.renderer']('salt://nothing.sls')
salt['slsutil.renderer']()
salt['slsutil.renderer'](string='a', path='b')
salt['slsutil.renderer'](string='a: {{ nope }}')
salt['defaults.get']('core:users:root')
salt['defaults.get']('core:users:list')
salt['defaults.get']('core')
salt['defaults.get']('json:k')
salt['defaults.get']('core:nope', 'd')
salt['defaults.get']('nope')
salt['defaults.merge']({'a': {'b': 1}}, {'a': {'c': 2}})
salt['defaults.merge']({'a': [1]}, {'a': [2]}, merge_lists=True)
salt['defaults.merge'](none, {'a': 1})
salt['defaults.merge']({'a': 1}, none)
salt['defaults.merge'](none, {'a': 1}, in_place=False)
salt['defaults.deepcopy']({'a': [1]})
salt['defaults.update']({'n1': {'a': 1}}, {'b': 2})
salt['jinja.load_map']('map.jinja', 'app')
salt['jinja.load_map']('map.jinja', 'nope')
salt['jinja.import_yaml']('data.yaml')
salt['jinja.import_json']('data.json')
salt['jinja.import_yaml']('nothing.yaml')
salt['cmd.run']('echo {{ grains.id }} $HOME', template='jinja')
salt['cmd.run']('echo a | cat')
salt['cmd.run']('echo a | cat', python_shell=True)
salt['cmd.shell']('echo a | cat')
salt['cmd.run']('echo {{ nope }}', template='jinja')
salt['cmd.run']('echo x', template='nope')
salt['cp.get_file_str']('salt://data.txt')
'test.echo' in salt
'test' in salt
salt.test is defined
salt['test.echo'] is callable
salt.get('test.echo')('y')
grains is mapping
grains.get('os', 'x')
grains['meta']['rack']['row']
grains | length > 3
pillar.get('nope', {}).get('x', 'deep')
pillar.nothing is none
pillar.users.keys() | list
pillar.users.values() | list
pillar.app.items() | list
pillar | dictsort | first | first
pillar.list
pillar.motd
opts.id
opts.custom
opts['file_roots']['base'] | length
proxy
saltenv
sls
tplpath
tplfile
tpldir
slspath
undefined_name
undefined_name.x
undefined_name | default('d')
undefined_name is defined
undefined_name or 'x'
(undefined_name | default({})).x
""".strip().split("\n")

# (options, SLS name, text)
OPTIONED = [
    ({"jinja_env": {"trim_blocks": True}}, "o1", "{% if true %}\na: 1\n{% endif %}\nb: 2\n"),
    ({"jinja_sls_env": {"trim_blocks": True, "lstrip_blocks": True}}, "o2", "x:\n  {% if true %}\n  a: 1\n  {% endif %}\n"),
    ({"jinja_trim_blocks": True}, "o3", "t: |\n  a\n  {% if true %}\n  b\n  {% endif %}\n  c\n"),
    ({"jinja_lstrip_blocks": True}, "o4", "t: |\n  a\n  {% if true %}\n  b\n  {% endif %}\n  c\n"),
    ({"jinja_sls_env": {"line_statement_prefix": "%", "line_comment_prefix": "##"}}, "o5", "% for i in [1, 2]\nk{{ i }}: x ## gone\n% endfor\n"),
    ({"jinja_sls_env": {"block_start_string": "<%", "block_end_string": "%>", "nonsense": 1}}, "o6", "<% set x = 1 %>a: {{ x }}\n"),
    ({"allow_undefined": True}, "o7", "a: '{{ missing }}'\nb: {{ missing is defined }}\n"),
    ({"allow_undefined": True}, "o8", "a: '{{ missing.x }}'\n"),
    ({"renderer": "yaml"}, "o9", "a: '{{ 1 }}'\n"),
    ({"renderer": "json"}, "o10", "{\"a\": \"{{ 1 }}\"}\n"),
    ({"renderer_blacklist": ["jinja"]}, "o11", "a: '{{ 1 }}'\n"),
    ({"renderer_whitelist": ["yaml"]}, "o12", "#!jinja|yaml\na: '{{ 1 }}'\n"),
    ({"renderer_whitelist": ["jinja"]}, "o13", "a: {{ 1 }}\n"),
]

# (SLS name, context): files that are rendered with more names.
CONTEXTS = [
    ("cx1", "a: {{ x }} {{ sls }}\n", {"x": 5}),
    ("cx2", "a: {{ sls }} {{ pillar }}\n", {"pillar": "mine", "sls": "other"}),
    ("cx3", "a: {{ tpldir }}\n", {"tpldir": "mine"}),
]
