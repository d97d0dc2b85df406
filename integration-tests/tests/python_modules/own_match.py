"""
A matcher of users.
"""


def match(tgt, *args, **kwargs):
    return tgt == "whoever" and bool(__opts__["id"])
