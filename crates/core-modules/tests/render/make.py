#!/usr/bin/env python3
"""Renders the cases of cases.py with real Salt; writes golden.json beside
itself. Run with the Python of a Salt installation; tests only read the file."""
import json
import logging
import os
import shutil
import sys
import tempfile

import salt.config
import salt.loader
import salt.template

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402

logging.disable(logging.CRITICAL)
ROOT = tempfile.mkdtemp()


def options(more):
    opts = salt.config.minion_config(None)
    roots = os.path.join(ROOT, "srv")
    opts.update(
        id="web01", root_dir=ROOT, file_client="local", cachedir=ROOT + "/cache", pki_dir=ROOT + "/pki",
        file_roots={"base": [roots]}, pillar_roots={"base": [ROOT + "/pillar"]}, conf_file=ROOT + "/minion",
        grains=json.loads(json.dumps(cases.GRAINS)), pillar=json.loads(json.dumps(cases.PILLAR)), saltenv=None,
    )
    opts.update(cases.OPTS)
    opts.update(more)
    return opts


class Salt:
    def __init__(self, more):
        self.opts = options(more)
        self.utils = salt.loader.utils(self.opts)
        self.funcs = salt.loader.minion_mods(self.opts, utils=self.utils)
        self.rend = salt.loader.render(self.opts, self.funcs)

    def sls(self, name, text, context=None):
        path = os.path.join(ROOT, "cache/files/base", name.replace(".", "/") + ".sls")
        if name in ("f", "f.deep.er"):
            path = path[:-4] + "/init.sls"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", newline="") as out:
            out.write(text)
        return salt.template.compile_template(
            path, self.rend, self.opts["renderer"], self.opts["renderer_blacklist"],
            self.opts["renderer_whitelist"], "base", name, rendered_sls=set(), context=context,
        )

    def text(self, text):
        return self.funcs["slsutil.renderer"](string=text, default_renderer="jinja")


def outcome(run):
    try:
        ret = run()
        if hasattr(ret, "read"):
            ret = ret.read()
        return {"result": json.loads(json.dumps(ret, default=str))}
    except Exception as exc:
        text = str(exc).replace(ROOT, "@ROOT@")
        return {"error": type(exc).__name__, "text_of_error": text.split("Traceback (most recent")[0]}


def main():
    os.environ["TZ"] = "UTC"
    for name, text in cases.FILES.items():
        path = os.path.join(ROOT, "srv", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
    salt_ = Salt({})
    golden = []
    for name, text in cases.SLS:
        golden.append({"sls": name, "text": text, **outcome(lambda: salt_.sls(name, text))})
    for path, text in cases.FILES.items():
        if path.endswith(".sls"):
            name = path[:-4].replace("/init", "").replace("/", ".")
            golden.append({"sls": name, "text": text, **outcome(lambda: salt_.sls(name, text))})
    for name, text, context in cases.CONTEXTS:
        entry = {"sls": name, "text": text, "context": context}
        golden.append({**entry, **outcome(lambda: salt_.sls(name, text, dict(context)))})
    for more, name, text in cases.OPTIONED:
        other = Salt(more)
        golden.append({"sls": name, "text": text, "opts": more, **outcome(lambda: other.sls(name, text))})
    for expression in cases.EXPRESSIONS:
        text = "{{ " + expression + " }}"
        golden.append({"text": text, **outcome(lambda: salt_.text(text))})
    with open(os.path.join(HERE, "golden.json"), "w") as out:
        head = {"grains": cases.GRAINS, "pillar": cases.PILLAR, "opts": cases.OPTS, "files": cases.FILES}
        for key, value in head.items():
            out.write(("{" if key == "grains" else " ") + json.dumps(key) + ": " + json.dumps(value) + ",\n")
        out.write(' "cases": [\n' + ",\n".join(json.dumps(entry) for entry in golden) + "\n]}\n")
    shutil.rmtree(ROOT)
    print(len(golden), "cases,", sum("error" in entry for entry in golden), "errors")


main()
