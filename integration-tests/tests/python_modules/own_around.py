"""
An executor of users.
"""


def execute(opts, data, func, args, kwargs):
    if args == ["not here"]:
        return None
    return {"id": opts["id"], "fun": data["fun"], "args": list(args), "ret": func(*args, **kwargs)}
