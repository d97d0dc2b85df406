word: pillared
deep:
  list: [1, two, 3.5, null, true]
  map: {a: {b: c}}
shared: common
for: {{ grains['id'] }}
