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
import salt.master
import salt.runner
import salt.utils.event

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
# It waits after each login, so that nobody learns from the time it took.
salt.auth.LoadAuth.time_auth = lambda self, load: self._LoadAuth__auth_call(load)
base = salt.config.master_config(sys.argv[1])
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


found = []
for rules in plan["rules"]:
    opts = copy.deepcopy(base)
    opts.update(copy.deepcopy(rules["options"]))
    funcs = salt.master.ClearFuncs(opts, rules["keys"])
    funcs._prep_jid = stop
    funcs.wheel_.call_func = stop
    asked = [outcome(funcs, one["way"], copy.deepcopy(one["load"])) for one in rules["asks"]]
    found.append(asked)
print(json.dumps(found), flush=True)
os._exit(0)
