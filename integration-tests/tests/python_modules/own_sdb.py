def get(key, profile=None):
    return {"key": key, "profile": sorted((profile or {}).items())} if key == "map" else "of " + key


def set_(key, value, profile=None):
    return "set %s" % key


__func_alias__ = {"set_": "set"}
