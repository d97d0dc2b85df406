#!/usr/bin/env python3
"""Records what real Salt returns for a scenario; see README.md beside it.

    golden.py SCENARIO OUT SHIMS

Runs with the Python of Salt, as root, in a root that may be ruined.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.remove(path)
    if text.startswith("@LINK "):
        os.symlink(text[len("@LINK "):], path)
        return
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def prepare(scenario, tmp, shims):
    """The machine of the scenario, and the minion's configuration."""
    for name in ("bin", "conf", "srv", "cache"):
        os.makedirs(f"{tmp}/{name}")
    only = scenario.get("shims")
    for name in os.listdir(shims):
        if only is None or name in only:
            write(f"{tmp}/bin/{name}", read(f"{shims}/{name}"), 0o755)
    write(f"{tmp}/bin/_log", read(f"{HERE}/src/log"), 0o755)
    write(f"{tmp}/bin/_tape", read(f"{HERE}/src/tape"))
    for name in scenario.get("answered", []):
        write(f"{tmp}/bin/{name}", read(f"{HERE}/src/answer"), 0o755)
    for name in scenario.get("taped", []):
        write(f"{tmp}/bin/{name}", '#!/bin/sh\n. "${0%/*}/_tape"\n', 0o755)
    for name, text in scenario.get("data", {}).items():
        write(f"{tmp}/{name}", text)
    for path, text in scenario.get("files", {}).items():
        write(path, text)
    opts = {
        "id": "m1", "root_dir": tmp, "file_client": "local", "pki_dir": f"{tmp}/pki",
        "cachedir": f"{tmp}/cache", "log_file": f"{tmp}/logfile", "master_type": "disable",
        "file_roots": {"base": [f"{tmp}/srv"]}, "grains": scenario.get("grains", {}),
        **scenario.get("opts", {}),
    }
    write(f"{tmp}/conf/minion", json.dumps(opts))


class Minions:
    """Real Salt in test mode and out of it."""

    def __init__(self, conf):
        self.conf, self.made = conf, {}

    def get(self, test):
        import salt.config
        import salt.minion
        if test not in self.made:
            opts = salt.config.minion_config(self.conf)
            opts["test"] = test
            self.made[test] = salt.minion.SMinion(opts)
        minion = self.made[test]
        minion.functions.pack["__context__"].clear()
        return minion


def carry_out(minion, asked):
    try:
        if "state" in asked:
            return minion.states[asked["state"]](**asked["args"])
        fun = minion.functions[asked["fun"]]
        return fun(*asked.get("args", []), **asked.get("kwargs", {}))
    except BaseException as error:  # what a function raises is its answer
        return f"EXC {type(error).__name__}: {error}"


def plain(value):
    return list(value) if isinstance(value, (set, tuple)) else str(value)


def play(scenario, tmp):
    minions, golden = Minions(f"{tmp}/conf/minion"), []
    for call in scenario["calls"]:
        for name, text in call.get("data", {}).items():
            write(f"{tmp}/{name}", text)
        asked = json.loads(json.dumps(call).replace("@TMP@", tmp))
        if "sh" in asked:
            env = dict(os.environ, TMP=tmp, ROOT="", HOME=tmp)
            subprocess.run(["/bin/sh", "-ec", asked["sh"]], check=True, env=env,
                           stdout=subprocess.DEVNULL)
        minion = minions.get(bool(asked.get("test")))
        write(f"{tmp}/log", "")
        ret = carry_out(minion, asked)
        if isinstance(ret, dict):
            ret = {k: v for k, v in ret.items() if k not in scenario.get("drop", [])}
        quiet = tuple(scenario.get("quiet", []))
        lines = [line for line in read(f"{tmp}/log").split("\n")
                 if line and not (quiet and line.startswith(quiet))]
        result = {"call": call, "ret": ret, "log": lines}
        files = {}
        for name in scenario.get("show", []):
            try:
                files[name] = read(name.replace("@TMP@", tmp))
            except FileNotFoundError:
                files[name] = None
        if files:
            result["files"] = files
        golden.append(json.loads(json.dumps(result, default=plain).replace(tmp, "@TMP@")))
    return golden


def main():
    path, out, shims = sys.argv[1:4]
    scenario = json.loads(read(path))
    tmp = tempfile.mkdtemp(prefix="rec", dir="/var")
    prepare(scenario, tmp, shims)
    os.environ.update(PATH=f"{tmp}/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME=tmp, LC_ALL="C",
                      HALITE_RECORD_ROOT="")
    if "taped" in scenario:
        os.environ["HALITE_RECORD_TAPE"] = "1"
    golden = play(scenario, tmp)
    if "taped" in scenario:
        scenario.setdefault("data", {})["tape"] = read(f"{tmp}/tape").replace(tmp, "@TMP@")
        write(path, json.dumps(scenario, indent=1) + "\n")
    write(out, json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
