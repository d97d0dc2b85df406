a:
  nosuch.thing: []
