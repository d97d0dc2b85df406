"""
A job cache of users.
"""
import datetime
import json
import os


def _path(name):
    return os.path.join(__opts__["cachedir"], name)


def prep_jid(nocache=False, passed_jid=None):
    return passed_jid or datetime.datetime.now().strftime("%Y%m%d%H%M%S%f")


def save_load(jid, load, minions=None):
    with open(_path("own-load-%s" % jid), "w") as file:
        json.dump({"fun": load["fun"], "tgt": load.get("tgt"), "Minions": minions}, file)


def returner(load):
    with open(_path("own-return-%s" % load["jid"]), "w") as file:
        json.dump({load["id"]: {"return": load["return"], "out": "txt"}}, file)


def get_load(jid):
    with open(_path("own-load-%s" % jid)) as file:
        return json.load(file)


def get_jid(jid):
    with open(_path("own-return-%s" % jid)) as file:
        return json.load(file)


def get_jids():
    return {
        "20200101000000000000": {
            "Function": "own.function",
            "Arguments": [],
            "Target": "*",
            "Target-type": "glob",
            "User": "someone",
            "StartTime": "2020, Jan 01 00:00:00.000000",
        }
    }
