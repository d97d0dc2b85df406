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
