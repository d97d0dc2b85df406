"""
A beacon of users.
"""
__virtualname__ = "ticks"


def __virtual__():
    return __virtualname__


def validate(config):
    for entry in config:
        if "text" in entry:
            return True, "Valid beacon configuration"
    return False, "Configuration for ticks beacon needs a text."


def beacon(config):
    text = [entry["text"] for entry in config if "text" in entry]
    return [{"tag": "one", "text": text[0], "grain": __grains__["id"], "pinged": __salt__["test.ping"]()}]
