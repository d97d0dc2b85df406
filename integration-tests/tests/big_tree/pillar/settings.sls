word: hello
app:
  head: head line
  banner: |
    several lines
    of a banner
  encoded: aGVsbG8gcGlsbGFyCg==
  template: "name {{ '{{ name }}' }} on {{ '{{ grains.id }}' }}\n"
  debug: true
  port: 8080
  names: [beta, alpha, gamma]
  deep:
    text: deep text
    list: [1, 2]
  users:
    erin: {uid: 4910, groups: [tree-web]}
    frank: {uid: 4911, shell: /bin/sh}
lookup:
  app:
    port: 9090
    extra: [c]
