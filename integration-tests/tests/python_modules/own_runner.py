"""
A runner of users.
"""


def tell(text):
    __jid_event__.fire_event({"message": text}, "progress")
    return {
        "text": text,
        "cli": __opts__["__cli"],
        "role": __opts__["__role"],
        "jid": len(__jid__),
        "user": bool(__user__),
        "count": __context__.setdefault("count", 1),
        "salt": __salt__["test.arg"](1)["args"],
        "utils": __utils__["own_utils.double"](4),
    }
