"""
Functions of users.
"""
import logging

from salt.exceptions import CommandExecutionError, SaltInvocationError

log = logging.getLogger(__name__)

__virtualname__ = "theirs"
__func_alias__ = {"list_": "list", "set_": "set"}
__outputter__ = {"table": "txt"}


def __virtual__():
    return __virtualname__


def _hidden():
    return "nobody calls this"


def list_(*args, **kwargs):
    """
    What it was given.

    CLI Example:

    .. code-block:: bash

        salt '*' theirs.list 1 a=2
    """
    own = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    return {"args": list(args), "kwargs": own, "pub": sorted(k for k in kwargs if k.startswith("__pub_"))}


def set_(name, value=None, flag=True, *more, **others):
    """
    Set something.
    """
    return [name, value, flag]


def dunders():
    return {
        "id": __opts__["id"],
        "grain": __grains__["id"] == __opts__["id"],
        "role": __grains__.get("own_grain"),
        "pillar": __pillar__.get("own"),
        "salt": __salt__["test.echo"]("hi"),
        "salt_kw": __salt__["test.arg"](1, a=2),
        "salt_own": __salt__["theirs.list"](1)["args"],
        "has": ["test.ping" in __salt__, "no.such" in __salt__, "theirs._hidden" in __salt__],
        "utils": __utils__["own_utils.double"](4),
        "name": __name__.rsplit(".", 1)[-1],
    }


def context():
    __context__["own.count"] = __context__.get("own.count", 0) + 1
    return __context__["own.count"] > 0


def missing():
    return __salt__["no.such"]()


def fail(kind):
    if kind == "command":
        raise CommandExecutionError("it did not work")
    if kind == "invocation":
        raise SaltInvocationError("not like that")
    if kind == "type":
        raise TypeError("a type")
    if kind == "value":
        raise ValueError("a value")
    return 1 / 0


def shapes():
    return {
        "tuple": (1, 2),
        "set": sorted({3, 1}),
        "none": None,
        "float": 1.5,
        "big": 2**70,
        "text": "äö",
        "nested": {"a": [{"b": ()}]},
        1: "one",
    }


def retcode(code):
    __context__["retcode"] = code
    return code


def table():
    return {"a": 1}
