"""
A wheel module of users.
"""


def tell(text):
    return {"text": text, "jid": len(__jid__), "salt": "__salt__" in globals() and "key.list_all" in __salt__}


def fail():
    raise ValueError("it fails")
