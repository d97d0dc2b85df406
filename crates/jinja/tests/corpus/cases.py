"""The cases: expressions, templates, and generated ones. Our own texts."""

import itertools

CONTEXT = {
    "s": "Hello World",
    "e": "",
    "u": "größe ☃",
    "n": 7,
    "z": 0,
    "neg": -13,
    "f": 2.5,
    "t": True,
    "no": None,
    "l": [3, 1, 2],
    "ls": ["b", "A", "c", "a"],
    "nested": [[1, [2, 3]], [4], 5],
    "d": {"b": 2, "a": 1, "C": 3},
    "users": [
        {"name": "ann", "age": 31, "tags": ["x", "y"], "on": True},
        {"name": "Bob", "age": 25, "tags": [], "on": False},
        {"name": "cid", "age": 31, "tags": ["z"], "on": True},
    ],
    "pillar": {"web": {"port": 80, "names": ["a.example", "b.example"]}, "k:v": 1, "text": "one\ntwo"},
    "grains": {"os": "Debian", "os_family": "Debian", "osmajorrelease": 12, "osrelease": "12.5",
               "id": "web01.example.com", "ipv4": ["127.0.0.1", "10.0.0.5"]},
}

EXPRESSIONS = r"""
1
1_000
0x1F
0b101
0o17
1.5
1e3
1.5e-7
1e16
1e15
123456789012345678.0
0.1 + 0.2
1/3
2**0.5
1e-5
0.0001
1.0
-0.0
100.0 * 3
1e22
5e-324
1.7976931348623157e308
'a' 'b'
"it's"
'say "hi"'
'tab\tnew\\n'
'\x41\u00e9'
true
True
false
none
None
[1, 'a', none, true, 1.0]
(1,)
()
(1, 2)
1, 2
{'a': 1, 'b': [1, {'c': none}]}
{}
[]
{1: 'x', true: 'y', none: 'z', (1, 2): 't'}
[['a\nb'], 'it\'s']
['größe', '\x00', '\x7f', '\u200b', '\xa0', '☃']
1 + 2 * 3
(1 + 2) * 3
7 // 2
-7 // 2
7 % 3
-7 % 3
7 % -3
7.5 % 2
-7.5 % 2
7.5 // 2
-7.5 // 2
2 ** 10
2 ** 3 ** 2
2 ** -1
-2 ** 2
6 / 3
1 / 0
1 // 0
1 % 0
1.0 / 0
'a' + 'b'
'a' + 1
1 + 'a'
'a' * 3
3 * 'ab'
'a' * -1
[1] + [2]
[1] * 3
(1,) + (2,)
[1] + (2,)
'a' ~ 1 ~ none ~ true ~ 1.0
'x' ~ [1, 'a'] ~ {'k': 'v'}
1 == 1.0
1 == true
'1' == 1
none == none
[1, 2] == [1, 2]
(1, 2) == [1, 2]
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
1 < 2 < 3
1 < 3 < 2
1 < 2 > 1
3 >= 3 != 4
'a' < 'b'
[1, 2] < [1, 3]
1 < 'a'
none < 1
{} < {}
1 in [1, 2]
'a' in 'abc'
'' in 'abc'
1 in 'abc'
'b' in d
'x' not in d
1 in (1, 2)
1 in none
not true
not 0
not not 'x'
1 and 2
0 and 2
0 or 'x'
'' or [] or {}
true and not false
1 if true else 2
1 if false else 2
1 if false
'a' if n > 5 else 'b' if n > 3 else 'c'
s[0]
s[-1]
s[1:4]
s[::-1]
s[::2]
s[:5]
s[6:]
s[-3:]
s[100]
s[2:1]
l[0]
l[-1]
l[5]
l[1:]
l[::-1]
l['a']
(1, 2, 3)[1]
(1, 2, 3)[1:]
d['a']
d.a
d.zz
d['zz']
d.get('a')
d.get('zz')
d.get('zz', 5)
d.items()
d.keys()
d.values()
d.items() | list
d.keys() | list
d.values() | list
d.keys()[0]
d.copy()
d.pop('a')
d.pop('zz')
d.pop('zz', 'default')
d.setdefault('q', 1)
d.update({'x': 1})
d.iteritems()
d.has_key('a')
users[0].name
users[0]['tags'][1]
users.0.name
pillar.web.port
pillar['web']['names'][0]
pillar.web.names.0
pillar.none_such.port
missing
missing.x
missing is defined
missing is undefined
missing | default('x')
missing | d('x')
missing.x | default('y')
d.zz | default('y')
d.zz.yy | default('y')
'' | default('x')
'' | default('x', true)
none | default('x')
none | default('x', true)
missing or 'x'
missing == 1
missing ~ 'x'
missing + 1
missing is none
missing is string
missing is mapping
missing is iterable
missing is sequence
missing is number
missing is sameas none
missing | length
missing | upper
missing | join(',')
missing | list
[missing]
[missing] | length
not missing
missing if false else 1
s.upper()
s.lower()
s.title()
'heLLo wORLD'.capitalize()
'they\'re bill\'s'.title()
s.swapcase()
s.split()
s.split('o')
s.split('o', 1)
s.rsplit('o', 1)
'  a  b  c '.split()
'  a  b  c '.split(none, 1)
'  a  b  c '.rsplit(none, 1)
'a,b,,c'.split(',')
'abc'.split('')
'a.b.c'.partition('.')
'a.b.c'.rpartition('.')
'abc'.partition('x')
'abc'.rpartition('x')
'a\nb\r\nc\n'.splitlines()
'a\nb\r\nc\n'.splitlines(true)
'  x '.strip()
'xxaxx'.strip('x')
'xxaxx'.lstrip('x')
'xxaxx'.rstrip('x')
'abc'.startswith('a')
'abc'.startswith(('x', 'ab'))
'abc'.endswith('bc')
'abc'.endswith(('x', 'y'))
'abc'.startswith('b', 1)
'abcabc'.find('c')
'abcabc'.rfind('c')
'abcabc'.find('z')
'abcabc'.index('z')
'abcabc'.index('b', 2)
'abcabc'.count('bc')
'aaa'.count('')
'abc'.replace('b', 'X')
'aaa'.replace('a', 'b', 2)
'aaa'.replace('', '-')
'-'.join(['a', 'b'])
'-'.join([1])
''.join(ls)
'-'.join(d)
'7'.zfill(3)
'-7'.zfill(4)
'a'.center(5, '*')
'ab'.center(5, '*')
'a'.ljust(3) ~ '|'
'a'.rjust(3)
'abc'.removeprefix('a')
'abc'.removesuffix('bc')
'a\tb'.expandtabs(4)
'123'.isdigit()
'12a'.isdigit()
'abc'.isalpha()
'a1'.isalnum()
' '.isspace()
'abc'.islower()
'ABC'.isupper()
'Abc Def'.istitle()
'abc'.isidentifier()
'abc'.encode()
'abc'.encode('utf-8')
'größe'.encode()
'abc'.encode().decode()
'{} {}'.format(1, 'a')
'{0} {1} {0}'.format(1, 'a')
'{a} {b}'.format(a=1, b=2)
'{:>5}|{:<5}|{:^5}'.format('a', 'b', 'c')
'{:05d} {:+d} {:x} {:X} {:o} {:b} {:#x}'.format(42, 42, 255, 255, 8, 5, 255)
'{:.2f} {:e} {:g} {:%}'.format(3.14159, 12345.678, 0.00001, 0.25)
'{:,} {:_}'.format(1234567, 1234567)
'{:*^10}'.format('mid')
'{0[a]} {0[b]}'.format(d)
'{x.name}'.format(x=users)
'{!r} {!s}'.format('a', 'b')
'{{}} {}'.format(1)
'{}'.format()
'{a}'.format()
'{:d}'.format('a')
'{:>{w}}'.format('a', w=4)
'{:s}'.format('abc')
'{:.1}'.format('abc')
'{} {}'.format([1, 'a'], {'k': none})
'{:5}|{:5}'.format(1, 'a')
'{:.3}'.format(3.14159)
'%s-%d' % ('a', 5)
'%s' % 'x'
'%s' % [1, 2]
'%s %s' % ('a',)
'%s' % ('a', 'b')
'%(a)s %(b)05d' % d
'%5s|%-5s|%05d|%.2f|%x|%o|%e|%g' % ('a', 'b', 42, 3.14159, 255, 8, 12345.678, 0.0001)
'%%' % ()
'%r' % 'a'
'%d' % 'a'
'%d' % 3.7
'%s' % none
'%c' % 65
'%+d % d' % (5, 5)
'%3d%%' % 50
'100%' ~ 5
'%s' % d
[1, 2, 3].index(2)
[1, 2, 3].index(9)
[1, 2, 2].count(2)
(1, 2, 1).count(1)
(1, 2).index(2)
[3, 1].sort()
[1, 2].reverse()
[1, 2].append(3)
[1].extend([2])
[1, 2, 3].pop()
[1, 2, 3].pop(0)
[].pop()
[1, 2].remove(9)
[1, 2].copy()
[1, 2].insert(0, 5)
n.bit_length()
f.is_integer()
(2.0).is_integer()
5.real
range(5)
range(5) | list
range(1, 10, 3) | list
range(5, 0, -2) | list
range(3)[1]
range(0) | list
range(100001)
range(1, 2, 0)
3 in range(5)
dict(a=1, b=2)
dict([('a', 1), ('b', 2)])
dict({'a': 1}, b=2)
odict(a=1).a
namespace(a=1).a
cycler('a', 'b').next()
cycler().next()
joiner('x')()
s | upper
s | lower
s | title
'foo bar-baz (qux)' | title
s | capitalize
s | length
l | length
d | length
5 | length
l | first
l | last
[] | first
[] | last
'' | first
s | first
s | last
d | first
l | sort
l | sort(reverse=true)
ls | sort
ls | sort(case_sensitive=true)
ls | sort(reverse=true)
users | sort(attribute='name') | map(attribute='name') | list
users | sort(attribute='age,name') | map(attribute='name') | list
users | sort(attribute='age', reverse=true) | map(attribute='name') | list
[1, 'a'] | sort
d | sort
l | join
l | join('-')
ls | join(', ')
users | join(', ', attribute='name')
[1, none, true] | join('/')
s | join('.')
l | reverse | list
s | reverse
l | sum
users | sum(attribute='age')
[] | sum
l | sum(start=10)
['a'] | sum
l | min
l | max
[] | max
ls | min
ls | max
l | list
s | list
(1, 2) | list
d | list
d | dictsort
d | dictsort(true)
d | dictsort(false, 'value')
d | dictsort(reverse=true)
d | dictsort(by='nope')
l | dictsort
d | items | list
'3' | int
'3.7' | int
'abc' | int
'abc' | int(5)
'0x1F' | int(base=16)
'1F' | int(base=16)
'0b11' | int(base=2)
'077' | int(base=8)
'1_000' | int
' 42 ' | int
3.99 | int
none | int
true | int
[1] | int
'3.5' | float
'abc' | float
'abc' | float(1.5)
'1e3' | float
'inf' | float
none | float
42 | string
1.0 | string
none | string
[1, 'a'] | string
3.14159 | round
3.14159 | round(2)
2.5 | round
3.5 | round
1234.5 | round(-2)
1234 | round(-2)
2.675 | round(2)
3.1 | round(0, 'ceil')
3.9 | round(0, 'floor')
5 | round
42.55 | round(1, 'floor')
'a' | round
-5 | abs
-5.5 | abs
'a' | abs
'  x  ' | trim
'xxaxx' | trim('x')
'a b c' | replace(' ', '_')
'aaa' | replace('a', 'b', 2)
5 | replace('5', 'x')
'one\ntwo\n\nthree' | indent
'one\ntwo\n\nthree' | indent(2)
'one\ntwo\n\nthree' | indent(2, true)
'one\ntwo\n\nthree' | indent(2, true, true)
'one\ntwo' | indent(width='>>')
'one\ntwo\n' | indent(2)
'' | indent(2)
5 | indent
'%s is %d' | format('a', 3)
'%(a)s' | format(a=1)
'%s' | format([1, 2])
'hi' | center(10)
s | wordcount
'a-b c_d e' | wordcount
'the quick brown fox jumps over the lazy dog' | wordwrap(10)
'the quick brown fox jumps over the lazy dog' | wordwrap(10, false)
'abcdefghijklmnop' | wordwrap(5)
'abcdefghijklmnop' | wordwrap(5, false)
'a\nb c d e f g h' | wordwrap(4)
'the quick brown fox' | wordwrap(10, wrapstring='|')
'foo bar baz qux' | truncate(9)
'foo bar baz qux' | truncate(9, true)
'foo bar baz qux' | truncate(11)
'foo bar baz qux' | truncate(11, false, '...', 0)
'foo' | truncate(2)
[1, 2, 3, 4, 5] | batch(2) | list
[1, 2, 3, 4, 5] | batch(2, 'x') | list
[1, 2, 3, 4, 5] | slice(2) | list
[1, 2, 3, 4, 5] | slice(3, 'x') | list
users | groupby('age') | list
users | groupby('age') | map(attribute='grouper') | list
users | groupby('none_such', default='z') | list
users | map(attribute='name') | list
users | map(attribute='tags.0', default='-') | list
users | map(attribute='none_such', default='-') | list
users | map(attribute='none_such') | list
ls | map('upper') | list
['1', '2'] | map('int') | list
ls | map('replace', 'a', 'z') | list
ls | map('nope') | list
ls | map | list
[1, 0, 2, none] | select | list
[1, 0, 2, none] | reject | list
[1, 2, 3, 4] | select('odd') | list
[1, 2, 3, 4] | reject('odd') | list
[1, 2, 3, 4] | select('divisibleby', 2) | list
[1, 2, 3, 4] | select('gt', 2) | list
[1, 2, 3, 4] | select('in', [1, 3]) | list
users | selectattr('on') | map(attribute='name') | list
users | rejectattr('on') | map(attribute='name') | list
users | selectattr('age', 'equalto', 31) | map(attribute='name') | list
users | selectattr('age', '==', 31) | map(attribute='name') | list
users | selectattr('name', 'match', 'a.*') | map(attribute='name') | list
users | selectattr('none_such', 'defined') | list
users | selectattr('none_such') | list
users | rejectattr('name', 'in', ['ann']) | map(attribute='name') | list
ls | unique
[1, 2, 1, 3] | unique
['a', 'A', 'a'] | unique
[1, 2] | union([2, 3])
[1, 2, 3] | intersect([2, 3, 4])
[1, 2, 3] | difference([2])
[1, 2, 3] | symmetric_difference([3, 4])
'<a href="x">&\'</a>' | e
'<a>' | escape
'<a>' | safe
'<a>' | e | e
'<a>' | e | forceescape
'<p>Hello <b>World</b></p>' | striptags
'a b/c?d=e&f' | urlencode
{'a': 'b c', 'd': 1} | urlencode
{'class': 'x', 'id': none, 'n': 5} | xmlattr
13 | filesizeformat
1 | filesizeformat
1000 | filesizeformat
1000000 | filesizeformat
123456789 | filesizeformat(true)
'abc' | pprint
{'b': 1, 'a': [1, 2]} | pprint
{'a': 'x', 'b': [1, none]} | tojson
{'b': 1, 'a': 2} | tojson
'<&>\'"' | tojson
[1, 1.5, true, none, 'ü'] | tojson
{'a': [1, {'b': 2}]} | tojson(2)
{'b': 1, 'a': [1, 2]} | json
{'b': 1, 'a': [1, 2]} | json(sort_keys=false)
{'b': 1, 'a': [1, {}], 'c': []} | json(indent=2)
'größe' | json
1.0 | json
none | json
{1: 2, none: 3} | json(false)
{'a': missing} | json
'{"a": [1, 2.5, "x", null, true]}' | load_json
'{bad' | load_json
'[1, 2' | load_json
'"\\u00e9\\n"' | load_json
'a: 1' | load_yaml
'[1, b, {c: d}]' | load_yaml
'- a\n- b: 2' | load_yaml
'abc' | load_text
d | yaml
d | yaml(false)
users[0] | yaml
users | yaml(false)
'text' | yaml
'yes' | yaml
5 | yaml
none | yaml
true | yaml
[1, 'a', none] | yaml
{'a': {'b': [1, 2]}} | yaml(false)
{'a': 1, 'b': 'x'} | dict_to_sls_yaml_params
d | python
'a' | sequence
['a'] | sequence
d | sequence
'x' | skip
'yes' | to_bool
'1' | to_bool
'True' | to_bool
'no' | to_bool
1 | to_bool
0 | to_bool
none | to_bool
[] | to_bool
[1] | to_bool
1.5 | to_bool
'it\'s' | quote
'simple' | quote
'' | quote
'two words' | quote
'a.b*c' | regex_escape
'abcd' | regex_search('b(.)')
'abcd' | regex_search('b.')
'abcd' | regex_search('z')
'abcd' | regex_match('a(b)(x)?')
'abcd' | regex_match('b')
'ABCD' | regex_match('ab', ignorecase=true)
'a\nb' | regex_search('^b', multiline=true)
'yes we can' | regex_replace('(\\w+) we', '\\1 they')
'lets replace spaces' | regex_replace('\\s+', '__')
'abc' | regex_replace('(?P<x>b)', '[\\g<x>]')
'aBc' | regex_replace('b', 'X', ignorecase=true)
'random' | uuid
'random' | md5
'random' | sha1
'random' | sha256
'random' | sha512
'random' | base64_encode
'cmFuZG9t' | base64_decode
'get salted' | hmac_compute('shared secret')
'get salted' | hmac('shared secret', 'eBWf9bstXg+NiP5AOwppB5HMvZiYMPzEM9W5YMm/AmQ=')
[1, 2, 3] | avg
[1, 2] | is_list
'a' | is_list
[1, 2] | is_iter
'a' | is_iter
5 | to_num
'5' | to_num
'5.5' | to_num
'x' | to_num
'5' | str_to_num
[[1, [2, [3]]], 4, none] | flatten
[[1, [2, [3]]], 4] | flatten(levels=1)
[[1, none]] | flatten(preserve_nulls=true)
pillar | traverse('web:port')
pillar | traverse('web:names:1')
pillar | traverse('web:zz', 'default')
pillar | traverse('web.port', delimiter='.')
pillar | traverse('k:v')
{'a': {'b': 1}} | set_dict_key_value('a:c', 2)
{'a': {'b': 1}} | set_dict_key_value('x:y:z', [1])
{'a': {'b': {'x': 1}}} | update_dict_key_value('a:b', {'y': 2})
{'a': {'b': [1]}} | append_dict_key_value('a:b', 2)
{'a': {'b': [1]}} | extend_dict_key_value('a:b', [2, 3])
{'a': 1, 'b': 2} | to_entries
[{'key': 'a', 'value': 1}] | from_entries
{'a': 1} | compare_dicts({'a': 2})
[1, 2] | compare_lists([1, 3])
[true, false] | exactly_one_true
[true, true, false] | exactly_n_true(2)
'web' | check_whitelist_blacklist(whitelist=['web*'])
'web' | check_whitelist_blacklist(blacklist=['w*'])
'e' | substring_in_list(['abc', 'def'])
'a b' | contains_whitespace
'abc' | contains_whitespace
'snake_case_word' | to_camelcase
'snake_case_word' | to_camelcase(uppercamel=true)
'camelCaseWord' | to_snake_case
'abc' | to_bytes
'2G' | human_to_bytes
'10kb' | human_to_bytes
'5 MB' | human_to_bytes(handle_metric=true)
'x\ny: "z"' | yaml_dquote
'it\'s' | yaml_squote
'yes' | yaml_encode
'a: b' | yaml_encode
5 | yaml_encode
none | yaml_encode
true | yaml_encode
['b', 'a', 'C'] | sorted_ignorecase
'deadbeef' | is_hex
'xyz' | is_hex
'' | is_empty
'192.168.0.1' | is_ip
'::1' | is_ip
'nope' | is_ip
'192.168.0.1' | is_ipv4
'::1' | is_ipv4
'::1' | is_ipv6
['192.168.0.1', 'foo', '::1', '10.0.0.0/8'] | ipv4
['192.168.0.1', 'foo', '::1', 'fe80::1/64'] | ipv6
['192.168.0.1', 'foo', '::1'] | ipaddr
'192.168.0.1' | ipaddr
'fe80::1' | ipwrap
'10.0.0.1' | ipwrap
['fe80::1', '10.0.0.1'] | ipwrap
'192.168.0.12/24' | ip_host
'192.168.0.0/30' | network_hosts
'192.168.0.0/24' | network_size
'/a' | path_join('b', 'c')
'/a/' | path_join('/b')
'a' | path_join('..', 'b')
'00:11:22:33:44:55' | mac_str_to_bytes
[1, 2, 3] | combinations(2) | list
[1, 2] | permutations | list
[1, 2] | product(['a', 'b']) | list
[1, 2] | combinations_with_replacement(2) | list
'ABC' | compress([1, 0, 1]) | list
[1, 2] | zip(['a', 'b']) | list
[1, 2] | zip_longest(['a'], fillvalue='-') | list
'a-b' | method_call('upper')
{'root': {'a': 'x', 'b': {'c': 1}}} | xml
s is string
5 is string
d is mapping
l is mapping
l is iterable
5 is iterable
s is iterable
d is iterable
l is sequence
d is sequence
s is sequence
5 is sequence
none is sequence
l is list
(1,) is list
5 is number
5.5 is number
true is number
'5' is number
5 is integer
true is integer
5.0 is float
5 is float
true is boolean
1 is boolean
true is true
1 is true
false is false
none is none
0 is none
3 is odd
4 is even
9 is divisibleby 3
9 is divisibleby(2)
'abc' is lower
'ABC' is upper
'aBC' is upper
'' is lower
1 is sameas 1
true is sameas true
'a' is sameas 'a'
1 is sameas true
5 is eq 5
5 is ne 5
5 is lt 6
5 is gt 6
5 is ge 5
5 is in [5]
5 is not in [5]
'abc' is match('a.c')
'xabc' is match('abc')
'ABC' is match('abc', ignorecase=true)
5 is equalto 5
'abc' is equalto('abc')
range is callable
s is callable
'default' is filter
'nope' is filter
'defined' is test
'x' is escaped
('x' | e) is escaped
s is not string
s is not number and l is not string
5 is nope
s | nope
s.__class__
s['__class__']
d.__class__
l.__init__
s.nope
s.nope()
5()
s()
s.upper.__self__
().__class__.__bases__
'{0.__class__}'.format(1)
users[0].name.upper()[0]
d['a'] + d['b'] * 2
(l | length) > 2 and s.startswith('H')
grains['osmajorrelease'] >= 10
grains.osrelease.split('.')[0] | int > 11
grains.id.split('.')[1:] | join('.')
grains.get('nope', {}).get('x', 'y')
grains['nope']
grains.nope
salt['test.ping']()
raise('my message')
ifelse
'a' is in 'abc'
[1, 2, 3][1:] | first
-1 | abs
- 5 + 3
+5
-'a'
not 1 == 2
1 == 1 and 2 == 2 or 3 == 4
'a' ~ 'b' == 'ab'
1 + 1 ~ 1
'%s' | format('a') | upper
'a,b'.split(',') | map('upper') | join('-')
[] is iterable
{'a': 1}.a
{'items': 5}.items
{'items': 5}['items']
[1, 2, 3].0
[[1, 2], [3, 4]].1.0
s.split(' ')[1].lower()
((1, 2), (3, 4)) | map('first') | list
{'x': 1}.items() | first
'abc'[1] ~ 'abc'[-1]
u | upper
u | length
u[0:3]
u | e
text_missing | default(s) | upper
'a\\b'
'a\tb'
pillar
pillar.text
[pillar.text]
{'a': 'tab\there'}
{'a': ['x\ny']}
{'q': 'it\'s'}
('<' | e) + '<'
'<' + ('>' | e)
('%s' | safe) % '<'
('{}' | safe).format('<')
('<a>' | e) ~ '<b>'
['<' | e]
('a' | e) == 'a'
loop
self
5 // 0.0
0 ** -1
10 ** 30
170141183460469231731687303715884105727
'x' in missing
l[missing]
d[missing]
d[l]
{l: 1}
{missing: 1}
1 if missing else 2
[x]
users | map(attribute='name') | first
users | first | items | list
users | selectattr('age', 'gt', 26) | sum(attribute='age')
users | map(attribute='tags') | sum(start=[])
'ß'.upper()
'İ'.lower()
'ÀÉ'.lower()
'a' 'b' ~ 'c'
'abc' | batch(2) | list
d.items() | sort | first
d | dictsort | map('last') | list
'a=%s' % (1,)
'a' < 'B'
'' ~ true
true + true
true ~ ''
1.5 + true
5 > 4.5
1e3 | int
1e400
'1e400' | float
4 | pprint
['a' * 30, 'b' * 30, 'c' * 30] | pprint
{'key' ~ 'x' * 30: 'a' * 30, 'k2': ['b' * 30, 'c' * 30]} | pprint
""".strip("\n").split("\n")


TEMPLATES = [
    # loops
    "{% for x in l %}{{ x }},{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem | default('-') }}<{{ x }}>{{ loop.nextitem | default('-') }} {% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}:{{ x }}{% if not loop.last %},{% endif %}{% endfor %}",
    "{% set seen = [] %}{% for x in [1, 2, 1, 3, 2] if x not in seen %}{{ x }}{% do seen.append(x) %}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in nested recursive %}{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}{% if not loop.last %},{% endif %}{% endif %}{% endfor %}",
    "{% for x in l recursive %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for x in l %}{{ loop(x) }}{% endfor %}",
    "{% for x in 5 %}{% endfor %}",
    "{% for x in missing %}{% endfor %}",
    "{% for a, b in [1, 2] %}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for x in 'abc' %}{{ x }}-{% endfor %}",
    "{% for x in l %}{% for y in 'ab' %}{{ x }}{{ y }}{{ loop.index }} {% endfor %}{{ loop.index }};{% endfor %}",
    "{% for u in users %}{{ u.name }}:{% for t in u.tags %}{{ t }}{% else %}-{% endfor %} {% endfor %}",
    "{% for x in range(3) %}{{ x }}{% endfor %}{{ x is defined }}",
    "{% break %}",
    "{% for x in l %}{{ loop.nope }}{% endfor %}",
    "{% set ll = [1, 2] %}{% for x in ll %}{% if ll | length < 5 %}{% do ll.append(x * 10) %}{% endif %}{{ x }} {% endfor %}",
    # assignment and scopes
    "{% set x = 1 %}{{ x }}{% set x = x + 1 %}{{ x }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = [1] %}",
    "{% set x = 0 %}{% for i in l %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}",
    "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{{ ns.nope }}",
    "{% set d.x = 5 %}",
    "{% set nope.x = 5 %}",
    "{% set x %}a{{ n }}b{% endset %}[{{ x }}]",
    "{% set x | upper %}abc{% endset %}{{ x }}",
    "{% set x | replace('a', 'z') | upper %}abc{% endset %}{{ x }}",
    "{% if true %}{% set x = 5 %}{% endif %}{{ x }}",
    "{% if false %}{% set x = 5 %}{% endif %}{{ x is defined }}",
    "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}",
    "{% set x = missing %}{{ x is defined }}",
    "{% set x = missing %}{{ x }}",
    "{% set x = missing.y %}",
    "{% set x = [] %}{% do x.append(1) %}{% do x.extend([2, 3]) %}{% do x.insert(0, 0) %}{{ x }}",
    "{% set x = {} %}{% do x.update({'a': 1}) %}{% do x.update(b=2) %}{% set _ = x.update([('c', 3)]) %}{{ x }}",
    "{% set a = [1] %}{% set b = a %}{% do b.append(2) %}{{ a }}",
    "{% set x = d.copy() %}{% do x.pop('a') %}{{ x }}{{ d }}",
    "{% set x = {'a': [1]} %}{% do x.a.append(2) %}{{ x }}",
    "{% set x = {} %}{% do x.setdefault('a', []).append(1) %}{% do x.setdefault('a', []).append(2) %}{{ x }}",
    "{% set x = [3, 1, 2] %}{% do x.sort() %}{{ x }}{% do x.sort(reverse=true) %}{{ x }}{% do x.reverse() %}{{ x }}{% do x.remove(1) %}{{ x }}{% do x.clear() %}{{ x }}",
    "{% do missing.append(1) %}",
    "{% do [].append() %}",
    "{% set x = {'a': 1} %}{% do x.update({'a': 2, 'b': 3}) %}{% for k, v in x | dictsort %}{{ k }}{{ v }}{% endfor %}",
    # conditions
    "{% if n > 5 %}big{% elif n > 3 %}mid{% else %}small{% endif %}",
    "{% if missing %}{% endif %}",
    "{% if missing is defined and missing.x %}a{% else %}b{% endif %}",
    "{% if 'os' in grains and grains['os'] == 'Debian' %}yes{% endif %}",
    "{% if not l %}a{% elif d %}b{% endif %}",
    "{% if false %}{{ s | nope }}{% endif %}ok",
    "{% if true %}{{ s | nope }}{% endif %}",
    "{% if (n, 1) %}t{% endif %}",
    # macros
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, z=2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m(a, b=a ~ 'x') %}{{ b }}{% endmacro %}{{ m('q') }}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m() %}{{ caller() }}!{% endmacro %}{% call m() %}body{% endcall %}",
    "{% macro m() %}{{ caller('x', 1) }}{% endmacro %}{% call(a, b) m() %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}body{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(x) %}{% if x > 0 %}{{ x }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% macro m(a, b=1, *c) %}{% endmacro %}",
    "{% macro m(a, b=1) %}{% endmacro %}{{ m.name }} {{ m.arguments }} {{ m.catch_kwargs }} {{ m.catch_varargs }} {{ m.caller }}",
    "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% macro m() %}{% set y = 5 %}{% endmacro %}{{ m() }}{{ y is defined }}",
    "{% macro m(l=[]) %}{% do l.append(1) %}{{ l }}{% endmacro %}{{ m() }}{{ m() }}",
    "{% macro outer() %}{% macro inner() %}in{% endmacro %}{{ inner() }}{% endmacro %}{{ outer() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}",
    "{% macro m() %}{{ kwargs.get('x', 'no') }}{% endmacro %}{{ m(x='yes') }}{{ m() }}",
    "{% macro m() -%}\n  a\n{%- endmacro %}[{{ m() }}]",
    "{% filter upper %}abc{{ s }}{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}",
    "{% filter indent(2) %}a\nb{% endfilter %}",
    # whitespace
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%- if true %}\n  b\n  {%- endif %}\nc\n",
    "a\n  {% if true -%}\n  b\n  {% endif -%}\nc\n",
    "a {{- n -}} b",
    "a {{ n -}}  b  {{- n }}",
    "{# comment #}x{#- c -#} y",
    "a\n{# c #}\nb",
    "{% raw %}{{ x }}{% y %}{% endraw %}z",
    "a {%- raw -%} {{ x }} {%- endraw -%} b",
    "{% raw %}{% raw %}{% endraw %}",
    "{{ '{{' }}{{ '}}' }}{{ '%}' }}",
    "{{ {'a': {'b': 1}} }}",
    "{{ {'a': {'b': 1}}}}",
    "x\r\ny\rz",
    "x\n\n",
    "\n",
    "",
    "{{ n }}\n",
    "{{ 'a\nb' }}",
    "{%set x=1%}{{x}}",
    "{%+ if true %}x{%+ endif %}",
    "{%- set x = 1 -%}\n\n{{ x }}\n\n{%- set x = 2 -%}\n",
    # salt tags
    "{% load_yaml as x %}\na: 1\nb: [1, two]\n{% endload %}{{ x.b[1] }}{{ x }}",
    "{% load_yaml as x %}\n{% for u in users %}{{ u.name }}: {{ u.age }}\n{% endfor %}{% endload %}{{ x }}",
    "{% load_json as x %}{\"a\": [1, null, true]}{% endload %}{{ x }}",
    "{% load_json as x %}{bad{% endload %}",
    "{% load_text as x %}  text {{ n }}\n{% endload %}[{{ x }}]",
    "{% load_yaml as x, y %}[1, 2]{% endload %}{{ x }}{{ y }}",
    "{% profile as 'label' %}a{% set q = 3 %}{% endprofile %}{{ q }}",
    # errors of syntax
    "{{ }}",
    "{{ 1 + }}",
    "{{ 1",
    "{% if %}{% endif %}",
    "{% if true %}",
    "{% endif %}",
    "{% nope %}",
    "{% for x %}{% endfor %}",
    "{% for x in l %}{% endif %}",
    "{# unclosed",
    "{% raw %}x",
    "{{ 'abc }}",
    "{{ (1 }}",
    "{{ 1) }}",
    "{{ [1, 2 }}",
    "{{ a b }}",
    "{{ 1 2 }}",
    "{% set 1 = 2 %}",
    "{% set %}",
    "{{ x ! y }}",
    "{{ x.1y }}",
    "{% block a %}{% endblock %}{% block a %}{% endblock %}",
    "{{ f(a=1, 2) }}",
    "{{ x | }}",
    "{{ x is }}",
    "{{ x. }}",
    "{% macro %}{% endmacro %}",
    "{% set x = %}",
    "{% do %}",
    "{% import 'a' %}",
    "{% include %}",
    "{{ 5 is is }}",
    "{{ 5 is odd is even }}",
    # blocks
    "{% block a %}x{% endblock %}-{{ self.a() }}",
    "{% set q = 1 %}{% block a %}{{ q }}{% endblock %}",
    "{% for i in l %}{% block a scoped %}{{ i }}{% endblock %}{% endfor %}",
    "{% for i in l %}{% block a %}{{ i is defined }}{% endblock %}{% endfor %}",
    "{% block a required %}x{% endblock %}",
    # others
    "{% print n %}" if False else "{{ n }}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% do c.reset() %}{{ c.current }}",
    "{% set j = joiner(', ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
    "{% for g, items in users | groupby('age') %}{{ g }}:{{ items | length }} {% endfor %}",
    "{% for g in users | groupby('name') %}{{ g.grouper }}={{ g.list | length }} {% endfor %}",
    "{% for row in range(5) | batch(2) %}{{ row }}{% endfor %}",
    "{% autoescape false %}{{ '<' }}{% endautoescape %}",
    "{% set x = range(3) | map('string') %}{{ x | list }}{{ x | list }}",
    "{% set x = {'a': 1} %}{{ x.update({'b': 2}) or '' }}{{ x }}",
    "{{ raise('stop: ' ~ n) }}",
    "{%- set v = grains.get('osmajorrelease') | int -%}{{ 'new' if v >= 12 else 'old' }}",
    "{% set os = {'Debian': {'pkg': 'apache2'}, 'RedHat': {'pkg': 'httpd'}}.get(grains.os_family) %}{{ os.pkg }}",
    "{% set defaults = {'a': 1, 'b': {'c': 2}} %}{% do defaults.b.update({'d': 3}) %}{{ defaults | yaml(false) }}",
    "web:\n  pkg.installed:\n    - names: {{ pillar.web.names | json }}\n    - port: {{ pillar.get('web', {}).get('port', 8080) }}\n",
    "x:\n  - contents: |\n      {{ 'a\nb\nc' | indent(6) }}\n",
    "{{ pillar.web }}\n{{ pillar.web.names }}\n",
    "{% for name, user in {'a': {'uid': 1}, 'b': none}.items() %}{%- if user == None -%}{%- set user = {} -%}{%- endif -%}{{ name }}:{{ user.get('uid', '-') }} {% endfor %}",
    "{% set map = {'default': {'x': 1}} %}{% do map.default.update(missing | default({}, true)) %}{{ map }}",
    "{% macro a(x) %}{% for i in x %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}{% endmacro %}{{ a(l) | upper }}{{ a(ls) | length }}",
    "{{ '%02d' % 5 }}-{{ '%s' % true }}-{{ '%.1f' % 2 }}",
]

FILES = {
    "lib.jinja": "{% set v = 'lib' %}{% set shared = [] %}{% set _hidden = 1 %}{% macro hi(x='w') %}hi {{ x }}{% endmacro %}{% macro ctx() %}{{ local | default('none') }}{% endmacro %}text",
    "inc.txt": "[{{ n }}{{ local | default('-') }}]",
    "base.html": "<{% block head %}H{% endblock %}|{% block body %}B{{ n }}{% endblock %}>",
    "mid.html": "{% extends 'base.html' %}{% block body %}M({{ super() }}){% endblock %}",
    "bad.jinja": "line one\n{{ missing_in_bad }}\n",
    "syntax.jinja": "{% if %}",
    "data.yaml": "a: {{ n }}\nb:\n  - x\n",
    "data.json": '{"k": [1, {{ n }}]}',
    "data.txt": "plain {{ n }}\n",
    "loop.jinja": "{% include 'loop.jinja' %}",
    "nl.jinja": "{% macro m() %}x{% endmacro %}\nafter\n",
}

WITH_FILES = [
    "{% import 'lib.jinja' as lib %}{{ lib.v }}{{ lib.hi() }}{{ lib.hi('y') }}{{ lib }}",
    "{% from 'lib.jinja' import v, hi as hello %}{{ v }}{{ hello() }}",
    "{% from 'lib.jinja' import nope %}",
    "{% from 'lib.jinja' import nope %}{{ nope }}",
    "{% from 'lib.jinja' import _hidden %}",
    "{% import 'lib.jinja' as lib %}{{ lib._hidden }}",
    "{% set local = 'L' %}{% from 'lib.jinja' import ctx %}{{ ctx() }}",
    "{% set local = 'L' %}{% from 'lib.jinja' import ctx with context %}{{ ctx() }}",
    "{% set local = 'L' %}{% import 'lib.jinja' as lib with context %}{{ lib.ctx() }}",
    "{% from 'lib.jinja' import shared %}{% do shared.append(1) %}{% import 'lib.jinja' as again %}{{ again.shared }}",
    "{% include 'inc.txt' %}",
    "{% set local = 5 %}{% include 'inc.txt' %}",
    "{% set local = 5 %}{% include 'inc.txt' without context %}",
    "{% for local in l %}{% include 'inc.txt' %}{% endfor %}",
    "{% include 'nope.txt' %}",
    "{% include 'nope.txt' ignore missing %}ok",
    "{% include ['nope.txt', 'inc.txt'] %}",
    "{% include ['nope.txt', 'no2.txt'] %}",
    "{% include ['nope.txt'] ignore missing %}ok",
    "{% include missing %}",
    "{% import 'nope.jinja' as x %}",
    "{% extends 'base.html' %}{% block body %}C{% endblock %}ignored",
    "{% extends 'mid.html' %}{% block body %}C[{{ super() }}]{% endblock %}",
    "{% extends 'mid.html' %}{% block head %}{{ super() }}2{% endblock %}",
    "{% extends 'base.html' %}{% set q = 5 %}{% block body %}{{ q }}{% endblock %}",
    "{% extends 'base.html' %}{% extends 'mid.html' %}",
    "{% extends 'nope.html' %}",
    "a{% extends 'base.html' %}b",
    "{% if n > 100 %}{% extends 'base.html' %}{% endif %}plain",
    "{% if n < 100 %}{% extends 'base.html' %}{% endif %}plain",
    "{% include 'bad.jinja' %}",
    "{% import 'bad.jinja' as b %}",
    "{% import 'syntax.jinja' as b %}",
    "{% include 'syntax.jinja' ignore missing %}",
    "{% import_yaml 'data.yaml' as x %}{{ x.a + 1 }}{{ x.b }}",
    "{% import_json 'data.json' as x %}{{ x.k[1] }}",
    "{% import_text 'data.txt' as x %}[{{ x }}]",
    "{% import_yaml 'nope.yaml' as x %}",
    "{% from 'nl.jinja' import m %}[{{ m() }}]",
    "{% include 'nl.jinja' %}|",
    "{% set f = 'inc.txt' %}{% include f %}",
    "{% from 'lib' ~ '.jinja' import hi %}{{ hi(n) }}",
    "{% import 'lib.jinja' as lib %}{% call lib.hi() %}{% endcall %}",
    "{% block b %}{% include 'inc.txt' %}{% endblock %}",
]

OPTIONS = [
    ({"trim_blocks": True}, "a\n{% if true %}\nb\n{% endif %}\nc\n{{ n }}\nd\n"),
    ({"lstrip_blocks": True}, "a\n  {% if true %}\n  b\n  {% endif %}\n c {% set x = 1 %}\n"),
    ({"trim_blocks": True, "lstrip_blocks": True}, "a\n  {% for x in l %}\n    {{ x }}\n  {% endfor %}\n{# c #}\nb\n"),
    ({"trim_blocks": True, "lstrip_blocks": True}, "  {%+ if true +%}\n x\n  {%- endif %}\n"),
    ({"lstrip_blocks": True}, "  {# c #}x\n  {{ n }}\n"),
    ({"trim_blocks": True}, "{% raw %}\nx\n{% endraw %}\ny\n"),
    ({"line_statement_prefix": "%"}, "a\n% for x in l\n  {{ x }}\n% endfor\nb\n"),
    ({"line_statement_prefix": "#", "line_comment_prefix": "##"}, "# set x = 5\n{{ x }} ## comment\n## whole\nend\n"),
    ({"line_statement_prefix": "%"}, "  % if true:\nx\n  % endif\n"),
    ({"variable_start_string": "<<", "variable_end_string": ">>"}, "<< n >> {{ n }}"),
    ({"block_start_string": "<%", "block_end_string": "%>"}, "<% if true %>x<% endif %>"),
    ({"comment_start_string": "<#", "comment_end_string": "#>"}, "a<# {{ c }} #>b"),
    ({"keep_trailing_newline": False}, "a\n"),
    ({"newline_sequence": "\r\n"}, "a\nb\n"),
    ({"lenient": True}, "[{{ missing }}][{{ missing | upper }}][{% for x in missing %}{% endfor %}][{{ missing ~ 'x' }}][{{ not missing }}]"),
    ({"lenient": True}, "{{ missing.x }}"),
    ({"lenient": True}, "{{ missing + 1 }}"),
    ({"lenient": True}, "{{ missing == missing2 }}{{ d.zz }}"),
]

VALUES = ["0", "3", "-2", "2.5", "true", "none", "'ab'", "''", "[1, 'x']", "[]", "(1, 2)", "{'k': 1}", "missing"]
BINARY = ["+", "-", "*", "/", "//", "%", "==", "<", "in", "~", "and", "or"]
UNARY = ["string", "length", "list", "first", "int", "float", "upper", "join('-')", "sort", "json",
         "to_bool", "sequence", "default('d')", "abs", "tojson", "reverse | list", "sum", "e", "indent", "trim"]
TESTS = ["defined", "string", "mapping", "iterable", "sequence", "number", "none", "callable", "integer", "list"]


def generated():
    for (a, b), op in itertools.product(itertools.product(VALUES, VALUES), BINARY):
        yield "{{ %s %s %s }}" % (a, op, b)
    for value, name in itertools.product(VALUES, UNARY):
        yield "{{ %s | %s }}" % (value, name)
    for value, name in itertools.product(VALUES, TESTS):
        yield "{{ %s is %s }}" % (value, name)
    for value, part in itertools.product(["'abcdef'", "[1, 2, 3, 4]", "(1, 2, 3)"],
                                         itertools.product(["", "1", "-2", "9"], ["", "2", "-1"], ["", ":2", ":-1"])):
        yield "{{ %s[%s:%s%s] }}" % ((value,) + part)
    for number, spec in itertools.product(["0", "42", "-7", "1234567", "2.5", "-0.125", "1e20", "1e-7"],
                                          ["", "d", "5", "<6", "^7", "+", ",", ".2f", "e", ".3g", "08.2f", "x", "%"]):
        yield "{{ '{:%s}'.format(%s) }}" % (spec, number)
        if spec and spec[-1] in "dfegx" and "<" not in spec and "^" not in spec and "," not in spec:
            yield "{{ '%%%s' %% %s }}" % (spec, number)
    for a in range(-3, 4):
        for b in (-3, -2, -1, 1, 2, 3):
            yield "{{ %d // %d }} {{ %d %% %d }} {{ %d / %d }}" % (a, b, a, b, a, b)
    for exponent in range(-9, 23):
        yield "{{ 1.5e%d }} {{ 1e%d }} {{ 123.456e%d | round(2) }}" % (exponent, exponent, exponent)


def all_cases():
    for text in EXPRESSIONS:
        yield {"template": "{{ %s }}" % text, "context": "C"}
    for text in TEMPLATES:
        yield {"template": text, "context": "C"}
    for text in WITH_FILES:
        yield {"template": text, "context": "C", "templates": "F"}
    for options, text in OPTIONS:
        yield {"template": text, "context": "C", "options": options}
    for text in generated():
        yield {"template": text}


EXPRESSIONS += r"""
{'a': x1, 'b': [x2]} | json
{'a': x1, 'b': [x2]} | yaml
missing | yaml | default('x')
missing | json
missing | load_yaml
missing | load_json | default('y')
missing | python
missing | dict_to_sls_yaml_params
missing | load_text
[missing] | yaml(false)
missing | zip([1]) | list
missing | sequence
missing | quote
missing | to_bool
missing | regex_replace('a', 'b')
missing | base64_encode
missing | unique
missing | traverse('a')
missing | path_join('a')
missing | yaml_dquote
missing | skip
missing | dictsort
missing | sort
missing | map('upper') | list
missing | selectattr('a') | list
missing | replace('a', 'b')
missing | int
missing | round
missing | format
missing | trim
missing | e
missing | indent
missing | tojson
missing | first
missing | sum
missing | unique | list
missing | string
missing | max
missing | batch(2) | list
missing | groupby('x') | list
missing | items | list
missing | pprint
missing | truncate
missing | wordcount
missing | urlencode
missing | xmlattr
missing | is_list
missing | is_iter
missing | is_ip
missing | ipv4
missing | flatten
missing | yaml_encode
missing | md5
missing | uuid
missing | reverse | list
missing | center
missing | capitalize
missing | title
missing | lower
missing | float
missing | filesizeformat
missing | length
missing | random
missing | to_num
missing.split(',')
missing['a']
missing[0]
missing()
missing == missing
-missing
missing < 1
missing in [1]
1 in [missing]
{'a': missing}.a
[1, missing, 3] | length
[1, missing, 3] | join(',')
[1, missing, 3] | map('default', 0) | list
dict(a=missing).a is defined
'%s' % missing
'%s' % (missing,)
'{}'.format(missing)
missing is lower
missing is odd
missing is in [1]
missing is eq 1
missing is sameas missing
missing is divisibleby 2
missing is match('a')
""".strip("\n").split("\n")
