#!/usr/bin/env python3
"""Records a transcript of real tools; see README.md beside it.

    record.py SCENARIO OUT --enter CMD --ours TEST-PROGRAM [--salt SALT-CALL]

Runs the calls of SCENARIO twice, each time in a fresh root: with our functions
(through the test program `recorded`), writing down every run of the tools, and
with real Salt, for its returns.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

WRAPPER = """#!/usr/bin/env python3
import json, os, subprocess, sys
here = os.path.dirname(os.path.abspath(sys.argv[0]))
name = os.path.basename(sys.argv[0])
path = [d for d in os.environ["PATH"].split(":") if os.path.abspath(d) != here]
path += [d for d in ("/usr/local/sbin", "/usr/sbin", "/sbin") if d not in path]
env = dict(os.environ, PATH=":".join(path))
def watched():
    found = {}
    for path in json.load(open(os.path.join(here, "..", "watch"))):
        try:
            found[path] = open(path).read()
        except FileNotFoundError:
            found[path] = None
    return found
before = watched()
stdin = None
if name in json.load(open(os.path.join(here, "..", "stdin"))):
    stdin = sys.stdin.read()
import shutil
program = shutil.which(name, path=env["PATH"])
if program is None:
    sys.exit(127)
ran = subprocess.run([program] + sys.argv[1:], env=env, input=stdin, text=True,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace")
entry = {"argv": [name] + sys.argv[1:], "code": ran.returncode}
if ran.stdout: entry["stdout"] = ran.stdout
if ran.stderr: entry["stderr"] = ran.stderr
if stdin is not None: entry["stdin"] = stdin
files = {p: t for p, t in watched().items() if before[p] != t}
if files: entry["files"] = files
with open(os.path.join(here, "..", "runs"), "a") as out:
    out.write(json.dumps(entry) + "\\n")
sys.stdout.write(ran.stdout)
sys.stderr.write(ran.stderr)
sys.exit(ran.returncode)
"""


# One process of real Salt for all calls; what it remembers is dropped between them.
CALLER = """
import json, os, sys
import salt.client, salt.config, salt.exceptions
opts = salt.config.minion_config(os.path.join(sys.argv[1], "conf", "minion"))
answers, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr
caller = None
for line in sys.stdin:
    call = json.loads(line)
    if caller is None or call.get("anew"):
        caller = salt.client.Caller(mopts=dict(opts))
    caller.sminion.functions.pack["__context__"].clear()
    try:
        ret = caller.cmd(call["fun"], *call["args"], **call["kwargs"])
        if isinstance(ret, dict) and call["fun"] == "state.single":
            ret = next(iter(ret.values()))
    except BaseException as error:
        ret = "ERROR: " + str(error)
    answers.write(json.dumps(ret) + "\\n")
    answers.flush()
"""


class Salt:
    """Real Salt, beside its salt-call."""

    def __init__(self, program, directory, env):
        python = os.path.join(os.path.dirname(program), "python3")
        self.process = subprocess.Popen([python, "-W", "ignore", "-c", CALLER, directory], env=env,
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def call(self, asked):
        if "state" in asked:
            asked = {"fun": "state.single", "args": [asked["state"]],
                     "kwargs": {**asked.get("args", {}), "test": bool(asked.get("test"))}}
        line = {"fun": asked["fun"], "args": asked.get("args", []), "kwargs": asked.get("kwargs", {})}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def minion(scenario, directory):
    """The configuration of a minion that is what the scenario says."""
    os.makedirs(f"{directory}/conf")
    os.makedirs(f"{directory}/srv")
    for name, text in scenario.get("srv", {}).items():
        with open(f"{directory}/srv/{name}", "w") as out:
            out.write(text)
    opts = {
        "id": "m1", "root_dir": directory, "file_client": "local",
        "pki_dir": f"{directory}/pki", "cachedir": f"{directory}/cache",
        "log_file": f"{directory}/log", "master_type": "disable",
        "file_roots": {"base": [f"{directory}/srv"]},
        "grains": scenario.get("grains", {}), **scenario.get("opts", {}),
    }
    with open(f"{directory}/conf/minion", "w") as out:
        json.dump(opts, out)


def play(scenario, directory, program, record):
    """Inside the root: plays the calls, returns what came of each."""
    minion(scenario, directory)
    os.makedirs(f"{directory}/bin")
    for name, data in (("watch", scenario.get("watch", [])), ("stdin", scenario.get("stdin", []))):
        with open(f"{directory}/{name}", "w") as out:
            json.dump(data, out)
    for tool in scenario["tools"]:
        with open(f"{directory}/bin/{tool}", "w") as out:
            out.write(WRAPPER)
        os.chmod(f"{directory}/bin/{tool}", 0o755)
    if scenario.get("setup"):
        subprocess.run(["/bin/sh", "-ec", scenario["setup"]], check=True)
    for kind, mode in (("files", 0o644), ("programs", 0o755)):
        for path, text in scenario.get(kind, {}).items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write(text)
            os.chmod(path, mode)
    if scenario.get("then"):
        subprocess.run(["/bin/sh", "-ec", scenario["then"]], check=True)
    search = os.environ["PATH"]
    if record:
        search = f"{directory}/bin:{search}"
    env = dict(os.environ, PATH=search, LC_ALL="C")
    env.pop("LANG", None)
    env.update(scenario.get("env", {}))
    if record:
        with open(f"{directory}/scenario.json", "w") as out:
            json.dump(scenario, out)
        line = [program, "--exact", "real_tools_are_read_as_salt_reads_them"]
        ran = subprocess.run(line, env=dict(env, HALITE_PLAY=directory), capture_output=True, text=True)
        if ran.returncode:
            sys.exit(ran.stdout + ran.stderr)
        return json.load(open(f"{directory}/results.json"))
    results = []
    salt = Salt(program, directory, env)
    for call in scenario["calls"]:
        if "sh" in call:
            here = dict(env, TMP=directory, ROOT="", HOME=directory)
            subprocess.run(["/bin/sh", "-ec", call["sh"]], check=True, env=here,
                           stdout=subprocess.DEVNULL)
            results.append({})
            continue
        ret = salt.call(json.loads(json.dumps(call).replace("@TMP@", directory)))
        if "state" in call and isinstance(ret, dict):
            for key in ("__run_num__", "start_time", "duration", "__id__", "__sls__"):
                ret.pop(key, None)
        files = {}
        for path in scenario.get("show", []):
            try:
                files[path] = open(path.replace("@TMP@", directory)).read()
            except FileNotFoundError:
                files[path] = None
        result = {"ret": ret}
        if files:
            result["files"] = files
        results.append(json.loads(json.dumps(result).replace(directory, "@TMP@")))
    return results


# What is of another moment in each recording; `transcript.rs` has the same list.
OF_A_MOMENT = (
    "build_date", "build_date_time_t", "creation_date_time", "creation_date_time_t",
    "install_date", "install_date_time_t", "pid",
)


def timeless(value):
    if isinstance(value, dict):
        return {k: "then" if k in OF_A_MOMENT else timeless(v) for k, v in value.items()}
    if isinstance(value, list):
        return [timeless(item) for item in value]
    if isinstance(value, str):
        return re.sub("Last metadata expiration check:.*\n *", "", value)
    return value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario")
    parser.add_argument("out")
    parser.add_argument("--enter", default="", help="a command that runs its arguments in a fresh root")
    parser.add_argument("--ours")
    parser.add_argument("--salt")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    scenario = json.load(open(options.scenario))
    # A transcript is a scenario with more in it.
    for call in scenario["calls"]:
        for key in ("runs", "salt", "ours", "files", "salt_files"):
            call.pop(key, None)
    if options.inside:
        directory = tempfile.mkdtemp(prefix="rec")
        results = play(scenario, directory, options.inside, options.inside == options.ours)
        json.dump(results, open(options.out, "w"))
        return
    answers = {}
    for who in ("ours", "salt"):
        program = getattr(options, who)
        if program:
            temporary = f"{options.out}.{who}"
            again = [sys.executable, os.path.abspath(__file__), os.path.abspath(options.scenario),
                     os.path.abspath(temporary), "--inside", program, "--ours", options.ours]
            subprocess.run(shlex.split(options.enter) + again, check=True)
            answers[who] = json.load(open(temporary))
            os.remove(temporary)
    calls = []
    for at, call in enumerate(scenario["calls"]):
        full = dict(call)
        if "sh" not in call:
            ours = answers["ours"][at]
            full["runs"] = ours["runs"]
            for key, theirs in (("ret", "salt"), ("files", "salt_files")):
                if key not in ours:
                    continue
                full["ours" if key == "ret" else key] = ours[key]
                if "salt" in answers:
                    full[theirs] = answers["salt"][at].get(key)
            for key, theirs in (("ours", "salt"), ("files", "salt_files")):
                if theirs not in full:
                    continue
                if timeless(full[key]) == timeless(full[theirs]):
                    del full["ours" if key == "ours" else theirs]
                elif "why" not in call:
                    print(f"{key} differ: {at} {call}\n  ours {json.dumps(full[key])}\n  salt {json.dumps(full[theirs])}")
            if "why" in call and "ours" not in full and "salt_files" not in full:
                print(f"no difference any more: {at} {call}")
        calls.append(full)
    transcript = {k: v for k, v in scenario.items() if k != "calls"}
    transcript["calls"] = calls
    with open(options.out, "w") as out:
        json.dump(transcript, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
