#!/usr/bin/env python3
"""Plays recorded calls on real Salt and writes down what it answers; see
README.md beside it.

    python real.py IN.jsonl OUT.jsonl

Run it with the Python that Salt is installed for. Both files may be the same.
"""

import copy
import json
import os
import stat
import subprocess
import sys
import tempfile
import traceback

import salt.config
import salt.exceptions
import salt.loader
import salt.minion
import salt.state

PLACE = "@W@"

# What belongs to the minion, and not to what a story leaves behind.
NOT_SHOWN = ("srv", "srv-dev", "cache", "minion")

# What the tests of crates/modules give to single calls, and those of
# crates/files to stories.
DATA = {
    "calls": (
        {"role": "web", "os": "Debian", "os_family": "Debian", "id": "m1", "host": "vm",
         "ipv4": ["127.0.0.1", "192.0.2.2"], "ipv6": ["::1", "fd00::2"],
         "deep": {"a": {"b": 1}, "l": ["x", "y"]}},
        {"color": "blue", "apps": ["one", "two"], "deep": {"k": {"v": 1}, "n": None}},
    ),
    "stories": (
        {"role": "web", "os": "Debian", "os_family": "Debian", "id": "m1", "host": "vm",
         "kernel": "Linux", "deep": {"a": {"b": "grain text"}, "l": ["x", "y"]}},
        {"color": "blue", "apps": ["one", "two"], "txt": "pillar text\n",
         "deep": {"k": {"v": "deep text"}, "n": None}, "b64": "aGVsbG8gcGlsbGFyCg=="},
    ),
}


class Minion:
    """Real Salt without a master, with everything below one directory."""

    def __init__(self, work, data):
        self.work = work
        for name in ("srv", "srv-dev", "cache", "minion"):
            os.makedirs(os.path.join(work, name), exist_ok=True)
        conf = os.path.join(work, "minion", "minion")
        settings = {
            "id": "m1", "file_client": "local", "root_dir": work, "cmd_safe": True, "state_aggregate": False,
            "cachedir": f"{work}/cache", "pki_dir": f"{work}/minion/pki",
            "log_file": f"{work}/minion/log", "sock_dir": f"{work}/minion/run",
            "file_roots": {"base": [f"{work}/srv"], "dev": [f"{work}/srv-dev"]},
            "fileserver_list_cache_time": 0, "enable_fqdns_grains": False, "enable_gpu_grains": False,
        }
        with open(conf, "w") as out:
            json.dump(settings, out)
        self.opts = salt.config.minion_config(conf)
        grains, pillar = DATA[data]
        self.opts["grains"] = {**salt.loader.grains(self.opts), **grains}
        self.opts["pillar"] = pillar
        self.utils = salt.loader.utils(self.opts)
        self.functions = salt.loader.minion_mods(self.opts, utils=self.utils)
        self.states = {}

    def published(self, fun, args, kwargs):
        """As a command of a master: words with `=` are arguments by name."""
        words = copy.deepcopy(args)
        if kwargs:
            words.append(dict(copy.deepcopy(kwargs), __kwarg__=True))
        load = {"fun": fun, "jid": "20200101000000000000", "arg": words}
        args, kwargs = salt.minion.load_args_and_kwargs(self.functions[fun], words, load)
        return self.call(fun, args, kwargs)

    def call(self, fun, args, kwargs):
        self.functions.pack["__context__"].clear()
        value = self.functions[fun](*args, **kwargs)
        return value, self.functions.pack["__context__"].get("retcode", 0)

    def state(self, fun, kwargs, test):
        if test not in self.states:
            opts = dict(self.opts, test=test)
            self.states[test] = salt.state.State(opts, pillar_override=self.opts["pillar"])
        states = self.states[test].states
        module, name = fun.split(".")
        low = {"state": module, "fun": name, "__id__": kwargs.get("name"), **kwargs}
        states.inject_globals = {
            "__low__": low, "__running__": {}, "__instance_id__": "1", "__lowstate__": [],
            "__env__": "base",
        }
        return states[fun](**kwargs)


def prepare(work, step):
    """Puts things where a story wants them."""
    path = lambda name: os.path.join(work, name)
    full = lambda text: text.replace(PLACE, work)
    if "put" in step:
        name = path(step["put"])
        os.makedirs(os.path.dirname(name), exist_ok=True)
        if os.path.lexists(name):
            os.remove(name)
        data = bytes.fromhex(step["hex"]) if "hex" in step else full(step["text"]).encode()
        with open(name, "wb") as out:
            out.write(data)
        os.chmod(name, int(step.get("mode", "644"), 8))
        if "mtime" in step:
            os.utime(name, (step["mtime"], step["mtime"]))
    elif "dir" in step:
        os.makedirs(path(step["dir"]), exist_ok=True)
        os.chmod(path(step["dir"]), int(step.get("mode", "755"), 8))
    elif "link" in step:
        os.makedirs(os.path.dirname(path(step["link"])), exist_ok=True)
        os.symlink(full(step["to"]), path(step["link"]))
    elif "hard" in step:
        os.link(path(step["to"]), path(step["hard"]))
    elif "sh" in step:
        subprocess.run(["sh", "-c", full(step["sh"])], cwd=work, check=True)


def tree(work):
    """What lies in the directory."""
    found = {}
    for top, dirs, files in os.walk(work):
        if top == work:
            dirs[:] = [name for name in dirs if name not in NOT_SHOWN]
        for name in dirs + files:
            path = os.path.join(top, name)
            data = os.lstat(path)
            mode = format(stat.S_IMODE(data.st_mode), "o")
            if stat.S_ISLNK(data.st_mode):
                item = ["l", os.readlink(path)]
            elif stat.S_ISDIR(data.st_mode):
                item = ["d", mode]
            elif stat.S_ISREG(data.st_mode):
                content = open(path, "rb").read()
                try:
                    item = ["f", mode, content.decode()]
                except UnicodeDecodeError:
                    item = ["f", mode, {"hex": content.hex()}]
            else:
                item = ["p", mode]
            if (data.st_uid, data.st_gid) != (0, 0):
                item.append([data.st_uid, data.st_gid])
            found[os.path.relpath(path, work)] = item
    return found


def plain(value):
    """What JSON has no word for."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return str(value)


def placed(value, old, new):
    return json.loads(json.dumps(value, default=plain).replace(old, new))


def story(line):
    """Tells a story from its beginning."""
    told = dict(line, steps=[])
    with tempfile.TemporaryDirectory(prefix="story") as work:
        work = os.path.realpath(work)
        minion, before = None, {}
        for step in line["steps"]:
            step = dict(step)
            if "state" not in step and "call" not in step:
                prepare(work, step)
                before = None
                told["steps"].append(step)
                continue
            if minion is None:
                minion = Minion(work, "stories")
            if before is None:
                before = tree(work)
            kwargs = placed(step["kwargs"], PLACE, work)
            try:
                if "state" in step:
                    ret = minion.state(step["state"], kwargs, step["test"])
                else:
                    args = placed(step["args"], PLACE, work)
                    ret, _ = minion.call(step["call"], args, kwargs)
            except BaseException as error:  # whatever Salt raises is its answer
                text = f"{type(error).__name__}: {error}"
                if "state" in step:
                    # A state's failure is known by the end of its traceback.
                    text = text.strip().splitlines()[-1]
                ret = {"EXC": text}
            step["ret"] = placed(ret, work, PLACE)
            after = tree(work)
            step.pop("tree", None)
            if after != before:
                step["tree"] = placed(after, work, PLACE)
            before = after
            told["steps"].append(step)
    return told


def answer(minion, line):
    """One call, as a minion words its failures."""
    fun, retcode = line["fun"], 1
    try:
        ret, retcode = minion.published(fun, line["args"], line["kwargs"])
    except KeyError if fun not in minion.functions else ():
        ret = f"'{fun}' is not available."
    except salt.exceptions.CommandNotFoundError as error:
        ret = f"Command required for '{fun}' not found: {error}"
    except salt.exceptions.CommandExecutionError as error:
        ret = f"ERROR: {error}"
    except salt.exceptions.SaltInvocationError as error:
        ret = f"ERROR executing '{fun}': {error}"
    except TypeError as error:
        ret = f"Passed invalid arguments to {fun}: {error}"
    except BaseException:
        ret = "EXC " + traceback.format_exc().strip().splitlines()[-1]
    return dict(line, ret=json.loads(json.dumps(ret, default=plain)), retcode=retcode)


def main():
    lines = [json.loads(line) for line in open(sys.argv[1])]
    out = []
    with tempfile.TemporaryDirectory(prefix="calls") as work:
        minion = None
        for line in lines:
            if "steps" in line:
                out.append(story(line))
            else:
                minion = minion or Minion(os.path.realpath(work), "calls")
                out.append(answer(minion, line))
    with open(sys.argv[2], "w") as file:
        for line in out:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
