#!/usr/bin/env python3
"""Renders the cases of cases.py with real Jinja2 and Salt's extension.

Run with the Python of a Salt installation; writes golden.json beside itself.
The tests of the crate only read golden.json.
"""
import json
import os
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox
import salt.utils.data
import salt.utils.dateutils  # noqa: F401  (registers filters)
import salt.utils.files  # noqa: F401
import salt.utils.hashutils  # noqa: F401
import salt.utils.jinja
import salt.utils.network  # noqa: F401
import salt.utils.path  # noqa: F401
import salt.utils.stringutils  # noqa: F401
import salt.utils.yamlencoding  # noqa: F401
from salt.utils.decorators.jinja import JinjaFilter, JinjaGlobal, JinjaTest
from collections import OrderedDict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402


def environment(templates, options):
    options = dict(options)
    lenient = options.pop("lenient", False)
    args = {} if lenient else {"undefined": jinja2.StrictUndefined}
    env = jinja2.sandbox.SandboxedEnvironment(
        extensions=[
            "jinja2.ext.do",
            "jinja2.ext.loopcontrols",
            salt.utils.jinja.SerializerExtension,
        ],
        loader=jinja2.DictLoader(templates),
        **args,
        **options,
    )
    indent = env.filters["indent"]
    env.tests.update(JinjaTest.salt_jinja_tests)
    env.filters.update(JinjaFilter.salt_jinja_filters)
    env.filters["indent"] = indent
    env.globals.update(JinjaGlobal.salt_jinja_globals)
    env.globals["odict"] = OrderedDict
    env.tests["list"] = salt.utils.data.is_list
    return env


def classes(exc):
    return [cls.__name__ for cls in type(exc).__mro__ if cls not in (object, BaseException)]


def main():
    golden = []
    for case in cases.all_cases():
        template = case["template"]
        templates = cases.FILES if case.get("templates") else {}
        context = cases.CONTEXT if case.get("context") else {}
        options = case.get("options", {})
        entry = {"template": template}
        for key in ("templates", "context", "options"):
            if case.get(key):
                entry[key] = case[key]
        env = environment(templates, options)
        env.globals.update(json.loads(json.dumps(context)))
        try:
            output = env.from_string(template).render()
            entry["output"] = output + ("\n" if template.endswith("\n") else "")
        except Exception as exc:  # every error is an expectation
            entry["error"] = classes(exc)
            entry["message"] = str(exc)
        golden.append(entry)
    with open(os.path.join(HERE, "golden.json"), "w") as out:
        out.write('{"context": %s,\n' % json.dumps(cases.CONTEXT))
        out.write('"templates": %s,\n"cases": [\n' % json.dumps(cases.FILES))
        out.write(",\n".join(json.dumps(entry) for entry in golden))
        out.write("\n]}\n")
    failed = sum("error" in entry for entry in golden)
    print(f"{len(golden)} cases, {failed} of them errors")


if __name__ == "__main__":
    main()
