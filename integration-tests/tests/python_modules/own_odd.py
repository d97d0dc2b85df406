"""
What modules of users do beside the usual.
"""
import datetime
from os.path import join

from salt.exceptions import CommandExecutionError

__virtual_aliases__ = ("own_alias",)
__load__ = ["count", "date", "join", "retcode", "shown", "inst", "deep"]
STATE = []


def __init__(opts):
    STATE.append(opts["id"])


def count():
    __context__["count"] = __context__.get("count", 0) + 1
    return __context__["count"]


def date():
    return datetime.datetime(2020, 1, 2, 3, 4, 5)


def retcode(number):
    __context__["retcode"] = number
    return "done"


def shown():
    return STATE == [__opts__["id"]]


def hidden():
    return "not shown"


def deep(n=0):
    if n > 20:
        raise CommandExecutionError("deep enough")
    return __salt__["own_odd.deep"](n + 1)


inst = object()
