shout:
  cmd.run:
    - name: echo {{ pillar['word'] }} | tr a-z A-Z
