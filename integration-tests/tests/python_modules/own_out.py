"""
An outputter of users.
"""


def output(data, **kwargs):
    return "shown %r" % (data,)
