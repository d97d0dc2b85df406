import json


def returner(ret):
    with open(__opts__["own_returned"], "a") as out:
        out.write(json.dumps({key: ret[key] for key in ("fun", "return", "retcode", "success") if key in ret}, sort_keys=True) + "\n")
