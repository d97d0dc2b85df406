x: {{ nothing.here }}
