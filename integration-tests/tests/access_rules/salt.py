# What the master of real Salt says to each request: its own handlers are
# asked, in this process, and stopped where a job would leave.
import asyncio
import copy
import json
import os
import sys

import salt.auth
import salt.cache
import salt.config
import salt.daemons.masterapi
import salt.master
import salt.runner
import salt.utils.event
import salt.utils.minions

here = os.path.dirname(sys.argv[1])
plan = json.load(open(os.path.join(here, "plan.json")))


class Allowed(BaseException):
    """Reached where a request is carried out."""


class Silent:
    """Nobody listens to the events of requests that are refused."""

    def fire_event(self, *args, **kwargs):
        pass


def stop(*args, **kwargs):
    raise Allowed


salt.utils.event.get_master_event = lambda *args, **kwargs: Silent()
salt.runner.RunnerClient.asynchronous = stop
salt.runner.Runner.__init__ = stop
# A process of its own asks PAM, and imports Salt like this one.
os.environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(salt.__file__))
# It waits after each login, so that nobody learns from the time it took.
salt.auth.LoadAuth.time_auth = lambda self, load: self._LoadAuth__auth_call(load)
base = salt.config.master_config(sys.argv[1])
base["auth.pam.python"] = sys.executable
grains = salt.cache.Cache(base)
for minion, known in plan["minions"].items():
    grains.store("grains", minion, known)


def outcome(funcs, way, load):
    try:
        if way == "publish":
            reply = asyncio.run(funcs.publish(load))
        else:
            reply = getattr(funcs, way)(load)
    except Allowed:
        return "allowed"
    except Exception:
        # Its worker goes on with the next request: nothing was allowed.
        return "refused"
    if reply == "" or "error" in reply:
        return "refused"
    error = reply.get("load", {}).get("error", "")
    return "allowed" if error.startswith("Master could not resolve") else repr(reply)


def of_minion(opts, way, load):
    """The handlers themselves, without the rest of a worker of a master."""
    if way == "minion_pub":
        funcs = object.__new__(salt.master.AESFuncs)
        funcs.opts, funcs.ckminions = opts, salt.utils.minions.CkMinions(opts)
        try:
            may = funcs._AESFuncs__verify_minion_publish(load)
        except Exception:
            may = False
        return "allowed" if may else "refused"
    funcs = object.__new__(salt.daemons.masterapi.RemoteFuncs)
    funcs.opts = opts
    try:
        funcs.minion_runner(load)
    except Allowed:
        return "allowed"
    except Exception:
        pass
    return "refused"


found = []
for rules in plan["rules"]:
    opts = copy.deepcopy(base)
    opts.update(copy.deepcopy(rules["options"]))
    funcs = salt.master.ClearFuncs(opts, rules["keys"])
    funcs._prep_jid = stop
    funcs.wheel_.call_func = stop
    asked = []
    for one in rules["asks"]:
        way, load = one["way"], copy.deepcopy(one["load"])
        is_minions = way.startswith("minion_")
        asked.append(of_minion(opts, way, load) if is_minions else outcome(funcs, way, load))
    found.append(asked)
print(json.dumps(found), flush=True)
os._exit(0)
