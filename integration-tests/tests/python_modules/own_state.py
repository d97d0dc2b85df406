"""
States of users.
"""
__virtualname__ = "theirs"


def __virtual__():
    return __virtualname__


def present(name, value=1, **kwargs):
    """
    Something is there.
    """
    ret = {"name": name, "changes": {}, "result": True, "comment": "it is there"}
    has = __salt__["theirs.list"](value)["args"]
    if __opts__["test"]:
        ret["result"] = None
        ret["comment"] = "it would be there"
        return ret
    ret["changes"] = {"old": None, "new": has, "from": __utils__["own_utils.double"](value)}
    return ret


def failed(name):
    return {"name": name, "changes": {}, "result": False, "comment": ["two", "lines"]}


def raising(name):
    raise ValueError("in a state")


def short(name):
    return {"name": name, "result": True}


def calls(name):
    ret = __states__["test.nop"](name)
    ret["comment"] = "through another: " + ret["comment"]
    return ret


def mod_watch(name, **kwargs):
    return {"name": name, "changes": {"watched": True}, "result": True, "comment": kwargs.get("sfun", "")}
