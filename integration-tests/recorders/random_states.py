#!/usr/bin/env python3
"""Random state trees, and what real Salt makes of them; see README.md beside it.

    python random_states.py FIRST COUNT OUT.jsonl

Run it with the Python that Salt is installed for. A seed always gives the same
tree. Left out is what is known to differ (docs/differences.md): a requisite
that means its own state, arguments that a state does not take, functions as
conditions that are asked twice.
"""

import copy
import fnmatch
import json
import os
import random
import shutil
import stat
import sys
import tempfile

PLACE = "@W@"
PATHS = [f"{PLACE}/f{number}" for number in range(4)]

KINDS = ["require", "watch", "onchanges", "onfail", "prereq", "listen"]
KINDS_OF_MANY = ["require_any", "watch_any", "onchanges_any", "onfail_any", "onfail_all"]
KINDS_IN = [kind + "_in" for kind in KINDS]

# States that take any argument, so that they can `use` others.
TOLERANT = ("file.managed", "cmd.run", "test.nop")


class Tree:
    """SLS files from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.states = []  # (sls, id, module, names)

    def chance(self, share):
        return self.random.random() < share

    def case(self):
        pick = self.random.choice
        names = ["one", "two.deep", "over"][: pick([1, 1, 2, 3])]
        files = {}
        for number, name in enumerate(names):
            document = self.document(name, pick([2, 3, 4, 5, 6, 8, 10]))
            if number and self.chance(0.5):
                document = {"include": [names[number - 1]], **document}
            init = "/init" if self.chance(0.2) else ""
            files[name.replace(".", "/") + init + ".sls"] = document
        mods = ",".join(names) if self.chance(0.8) else names[-1]
        runs = []
        if self.chance(0.4):
            runs.append(["state.sls", [mods], {"test": True}])
        if self.chance(0.2):
            runs.append(["state.show_low_sls", [mods], {}])
        runs.append(["state.sls", [mods], {}])
        if self.chance(0.4):
            runs.append(["state.sls", [mods], {}])
        first = json.dumps(next(iter(files.values())))
        more = [
            ["state.sls_id", [pick(self.states)[1], mods], {}],
            ["state.sls", [mods], {"exclude": names[0]}],
            ["state.show_sls", [mods], {}],
            ["state.show_lowstate", [], {}],
            ["state.highstate", [], {}],
            ["state.apply", [mods], {"test": True}],
            ["state.template_str", [first], {}],
        ]
        if self.chance(0.4):
            runs.append(pick(more))
        if any(not run[1] for run in runs):
            files["top.sls"] = {"base": {"*": names}}
        before = {"f0": "one\nold\n"} if self.chance(0.3) else {}
        return {"before": before, "files": files, "runs": runs, "config": self.config()}

    def config(self):
        options = [
            ("failhard", [True]),
            ("test", [True]),
            ("state_aggregate", [True, ["pkg", "test"], False]),
            ("disabled_requisites", [["watch"], "require", ["onfail", "listen"]]),
            ("state_auto_order", [False]),
        ]
        return {key: self.random.choice(values) for key, values in options if self.chance(0.05)}

    def document(self, sls, count):
        pick = self.random.choice
        document = {"zero": {"test.nop": []}}
        for _ in range(count):
            key = pick("abcdefgh") + str(self.random.randrange(9))
            if any(state[1] == key for state in self.states):
                continue
            function, arguments = self.function()
            module, short = function.split(".")
            if "name" in arguments:
                names = [arguments["name"]]
            elif self.chance(0.15):
                arguments["name"] = pick([f"n{self.random.randrange(6)}", key])
                names = [arguments["name"]]
            elif self.chance(0.12):
                names = [f"m{self.random.randrange(9)}" for _ in range(self.random.randrange(1, 4))]
                arguments["names"] = [{name: [{"order": 3}]} if self.chance(0.1) else name for name in names]
            else:
                names = [key]
            own = (sls, key, module, names)
            self.add_common(function, arguments)
            self.add_requisites(function, own, arguments)
            items = [{key: value} for key, value in arguments.items()]
            self.random.shuffle(items)
            form = self.random.random()
            if form < 0.8:
                document[key] = {function: items}
            elif form < 0.9:
                document[key] = {module: [short, *items]}
            else:
                document[key] = {module: [*items, short]}
            if self.chance(0.06):
                other = "cmd" if module != "cmd" else "test"
                document[key]["cmd.run" if other == "cmd" else "test.nop"] = [{"name": "true"}]
            self.states.append(own)
        if self.chance(0.12) and self.states:
            document["extend"] = self.extension()
        if self.chance(0.05) and self.states:
            state = pick(self.states)
            document["exclude"] = [pick([{"id": state[1]}, {"sls": state[0]}, state[0]])]
        return document

    def extension(self):
        state = self.random.choice(self.states)
        values = {
            "order": 1,
            "name": "extended",
            "onlyif": "false",
            "failhard": True,
            "require": [self.reference(state)],
            "watch": [self.reference(state)],
            "onfail": [self.reference(state)],
        }
        key = self.random.choice(list(values))
        return {state[1]: {state[2]: [{key: values[key]}]}}

    def function(self):
        pick = self.random.choice
        path = pick(PATHS)
        share = self.random.random()
        if share < 0.45:
            return pick([
                "test.nop", "test.nop", "test.succeed_with_changes", "test.succeed_with_changes",
                "test.succeed_without_changes", "test.fail_with_changes", "test.fail_without_changes",
                "test.mod_watch",
            ]), {}
        if share < 0.58:
            arguments = {"changes": pick([True, False]), "result": pick([True, True, True, False])}
            for key, values in [("comment", ["said", "", "two\nlines"]), ("warnings", ["beware", ["a", "b"]]),
                                ("allow_test_mode_failure", [True, False])]:
                if self.chance(0.2):
                    arguments[key] = pick(values)
            return "test.configurable_test_state", arguments
        if share < 0.75:
            command = pick([
                "true", "false", "echo hi", "echo hi; exit 3", f"touch {path}", f"test -e {path}",
                "echo 'changed=yes comment=\"done it\"'", "umask", f"cat {path}", f"echo x >> {path}",
            ])
            arguments = {"name": command}
            for key, values in [
                ("stateful", [True]), ("env", [[{"AA": "b"}]]), ("cwd", [PLACE, "/"]), ("hide_output", [True]),
                ("ignore_timeout", [True]), ("success_retcodes", [[3], 1, [1, 3]]),
                ("success_stdout", ["hi", ["hi"]]), ("umask", ["077", "0027"]), ("timeout", [60]),
            ]:
                if self.chance(0.08):
                    arguments[key] = pick(values)
            return pick(["cmd.run", "cmd.run", "cmd.wait"]), arguments
        if share < 0.95:
            return self.of_files(path)
        return pick([
            ("test.show_notification", {"text": "hello"}),
            ("module.run", {"test.echo": [{"text": "x"}]}),
            ("module.run", {"name": "test.echo", "text": "x"}),
            ("environ.setenv", {"name": "x", "value": {"ZZ": "1"}}),
        ])

    def of_files(self, path):
        pick = self.random.choice
        managed = {"name": path, "contents": pick(["one", "two\nlines", ["l1", "l2"]])}
        for key, values in [("mode", ["0600", "0644", 640]), ("replace", [False]), ("create", [False]),
                            ("show_changes", [False])]:
            if self.chance(0.12):
                managed[key] = pick(values)
        function, arguments = pick([
            ("managed", managed), ("managed", managed), ("managed", managed), ("absent", {}), ("touch", {}),
            ("exists", {}), ("missing", {}), ("directory", {}),
            ("directory", {"name": f"{PLACE}/d{self.random.randrange(2)}"}),
            ("append", {"text": pick(["t", ["a", "b"]])}), ("prepend", {"text": pick(["t", ["a", "b"]])}),
            ("symlink", {"target": f"{PLACE}/f9"}), ("replace", {"pattern": "one", "repl": "uno"}),
            ("copy", {"name": f"{PLACE}/c{self.random.randrange(3)}", "source": path}),
            ("line", {"content": "one", "mode": "ensure", "after": "old"}), ("line", {"content": "one", "mode": "delete"}),
        ])
        return "file." + function, {"name": path, **arguments}

    def add_common(self, function, arguments):
        pick = self.random.choice
        path = pick(PATHS)
        options = [
            (0.06, "failhard", [True, True, False]),
            (0.05, "retry", [{"attempts": 2, "interval": 0}, {"attempts": 3, "interval": 0, "until": False},
                             {"interval": 0, "attempts": "2"}, {"until": True, "interval": 0, "splay": 0}]),
            (0.05, "parallel", [True, True, False]),
            (0.08, "order", ["first", "last", 1, 5, -1, 10000, 10001, "bad", 2.5]),
            (0.04, "creates", [PATHS[0], PATHS[:2], f"{PLACE}/no"]),
            (0.04, "check_cmd", ["true", "false", ["true", "false"], ["true"], f"test -e {PATHS[0]}"]),
            (0.03, "fire_event", [True, "own/tag", False]),
            (0.02, "reload_modules", [True]),
            (0.02, "reload_grains", [True]),
            (0.02, "reload_pillar", [True]),
            (0.02, "runas", ["root"]),
        ]
        if not function.startswith("cmd."):
            options.append((0.03, "umask", ["077", "027"]))
        if function.startswith(("cmd.", "file.")):
            options.append((0.04, "test", [True, False]))
        twice = "retry" in arguments
        for share, key, values in options:
            if self.chance(share):
                arguments.setdefault(key, pick(values))
                twice |= key == "retry"
        for key in ("onlyif", "unless"):
            if self.chance(0.1):
                arguments[key] = self.condition(path, commands_only=twice)

    def condition(self, path, commands_only):
        pick = self.random.choice
        commands = ["true", "false", f"test -e {path}", "exit 2", "echo hi"]
        functions = [] if commands_only else [
            {"fun": "test.ping"}, {"fun": "test.false"}, {"fun": "file.file_exists", "args": [path]},
            {"fun": "file.file_exists", "path": path}, {"fun": "test.echo", "text": ""},
            {"fun": "test.echo", "args": [{"a": {"b": False}}], "get_return": "a:b"},
            {"fun": "test.echo", "text": {"a": 1}, "get_return": "a"}, {"fun": "cmd.retcode", "args": ["false"]},
        ]
        if self.chance(0.4):
            return pick(commands)
        return [pick(commands + functions) for _ in range(self.random.randrange(1, 4))]

    def add_requisites(self, function, own, arguments):
        pick = self.random.choice
        for _ in range(pick([0, 0, 1, 1, 1, 2, 3])):
            if not self.states:
                return
            share = self.random.random()
            if share < 0.6:
                kind = pick(KINDS)
            elif share < 0.78:
                kind = pick(KINDS_OF_MANY)
            elif share < 0.95:
                kind = pick(KINDS_IN)
            elif function in TOLERANT:
                kind = "use"
            else:
                continue
            named = [self.reference(own, bare=kind != "listen_in") for _ in range(pick([1, 1, 1, 2, 3]))]
            arguments[kind] = arguments.get(kind, []) + named

    def reference(self, own, bare=True):
        """A requisite that does not mean `own`."""
        for _ in range(9):
            found = self.any_reference()
            if isinstance(found, str):
                if not bare:
                    continue
                kind, value = None, found
            else:
                kind, value = next(iter(found.items()))
            if kind == "sls":
                same = fnmatch.fnmatchcase(own[0], value)
            else:
                same = kind in (None, "id", own[2]) and any(
                    fnmatch.fnmatchcase(name, value) for name in [own[1], *own[3]])
            if not same:
                return found
        return {"test": "zero"}

    def any_reference(self):
        pick = self.random.choice
        sls, key, module, names = pick(self.states)
        share = self.random.random()
        if share < 0.55:
            return {module: key}
        if share < 0.68:
            return {module: pick(names)}
        if share < 0.78:
            return key
        if share < 0.86:
            return {"sls": pick([sls, sls, sls[:1] + "*"])}
        if share < 0.95:
            return {module: pick([key[:1] + "*", "*" + key[-1], key[:-1] + "?", key[:-1] + "[0-4]"])}
        return {"id": key}


def is_known(case, answers):
    """Whether a case meets what is known to differ."""
    text = json.dumps(case["files"])
    said = json.dumps(answers)
    asked_twice = '"fun"' in text and any(
        f'"{word}' in text for word in ("prereq", "retry", "names", "listen"))
    return asked_twice or any(
        word in said for word in ("Recursive requisites", "should be a dictionary", '"raised"'))


class RealSalt:
    """Real Salt without a master, with everything below one directory."""

    def __init__(self, work):
        import salt.config
        import salt.loader
        import salt.minion
        self.loader, self.minion, self.work = salt.loader, salt.minion, work
        self.files = f"{work}/t"
        config = f"{work}/minion"
        with open(config, "w") as out:
            json.dump(self.settings({}), out)
        self.opts = salt.config.minion_config(config)
        self.opts["grains"] = salt.loader.grains(self.opts)
        self.opts["pillar"] = {}

    def settings(self, more):
        work = self.work
        return {
            "id": "m1", "file_client": "local", "root_dir": work, "cachedir": f"{work}/cache",
            "pki_dir": f"{work}/pki", "log_file": f"{work}/log", "sock_dir": f"{work}/run",
            "file_roots": {"base": [f"{work}/srv"]}, "pillar_roots": {"base": [f"{work}/pillar"]},
            "log_level": "quiet", "log_level_logfile": "quiet", "fileserver_list_cache_time": 0,
            "enable_fqdns_grains": False, "enable_gpu_grains": False, "state_aggregate": False, **more,
        }

    def placed(self, value):
        return json.loads(json.dumps(value).replace(PLACE, self.files))

    def play(self, case):
        """The answers of the case, and what lies there then."""
        for name in ("srv", "t", "cache", "pillar"):
            shutil.rmtree(f"{self.work}/{name}", ignore_errors=True)
            os.makedirs(f"{self.work}/{name}")
        for name, text in case["before"].items():
            with open(f"{self.files}/{name}", "w") as out:
                out.write(text)
        for name, document in case["files"].items():
            path = f"{self.work}/srv/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                json.dump(self.placed(document), out)
        answers = [self.apart(run, case["config"]) for run in case["runs"]]
        text = json.dumps({"answers": answers, "tree": self.tree()})
        return json.loads(text.replace(self.files, PLACE))

    def apart(self, run, config):
        """One call, in a process of its own."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            status = 1
            try:
                answer = json.dumps(self.call(run, config), default=str)
                with os.fdopen(writer, "w") as out:
                    out.write(answer)
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader) as answer:
            text = answer.read()
        _, status = os.waitpid(child, 0)
        return json.loads(text) if status == 0 else {"raised": "the process"}

    def call(self, run, config):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        function, args, kwargs = self.placed(run)
        opts = copy.deepcopy(self.opts)
        opts.update(self.settings(config))
        opts["__cli"] = "salt-call"
        functions = self.loader.minion_mods(opts, utils=self.loader.utils(opts))
        words = [*args, dict(kwargs, __kwarg__=True)] if kwargs else args
        load = {"fun": function, "jid": "20200101000000000000", "arg": words}
        try:
            args, kwargs = self.minion.load_args_and_kwargs(functions[function], words, load)
            ret = functions[function](*args, **kwargs)
        except BaseException as error:  # the answer is that it raises
            return {"raised": type(error).__name__}
        return {"ret": settled(ret), "retcode": functions.pack["__context__"].get("retcode", 0)}

    def tree(self):
        found = {}
        for place, dirs, files in os.walk(self.files):
            for name in dirs + files:
                path = os.path.join(place, name)
                mode = os.lstat(path).st_mode
                entry = {"mode": f"{stat.S_IMODE(mode):04o}"}
                if stat.S_ISLNK(mode):
                    entry = {"link": os.readlink(path)}
                elif stat.S_ISREG(mode):
                    with open(path) as text:
                        entry["text"] = text.read()
                found[os.path.relpath(path, self.files)] = entry
        return found


def settled(ret):
    """The results without what changes from run to run."""
    if not isinstance(ret, dict):
        return ret
    for result in ret.values():
        if isinstance(result, dict) and "result" in result:
            result.pop("start_time", None)
            result.pop("duration", None)
            if isinstance(result.get("changes"), dict):
                result["changes"].pop("pid", None)
    return ret


def main():
    first, count, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as work:
        salt = RealSalt(work)
        with open(out, "w") as lines:
            for seed in range(first, first + count):
                case = {"seed": seed, **Tree(seed).case()}
                played = salt.play(case)
                if not is_known(case, played["answers"]):
                    lines.write(json.dumps({**case, **played}) + "\n")
                    lines.flush()


if __name__ == "__main__":
    main()
