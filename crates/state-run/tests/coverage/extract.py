"""Lists the functions of an installed Salt and their parameters, from its
syntax trees: `extract.py SALT_PACKAGE_DIR MODULES_CSV > functions.tsv`.

Columns: kind, module, function, parameters (space separated; `*` and `**` as
in Python). MODULES_CSV (kind,file,virtual_name,functions,tier,why) names the
modules that count."""
import ast
import csv
import os
import sys

package, table = sys.argv[1:]
folders = {"state": "states", "execution": "modules"}


def functions(path):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    aliases, found = {}, {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            name = getattr(target, "id", "")
            if name == "__func_alias__":
                aliases = ast.literal_eval(node.value)
            elif isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") in ("salt_alias", "alias_function"):
                found[name] = found.get(getattr(node.value.args[0], "id", ""), "")
            elif isinstance(node.value, ast.Name) and node.value.id in found and not name.startswith("_"):
                found[name] = found[node.value.id]
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            a = node.args
            words = [x.arg for x in a.posonlyargs + a.args]
            if a.vararg:
                words.append("*" + a.vararg.arg)
            words += [x.arg for x in a.kwonlyargs]
            if a.kwarg:
                words.append("**" + a.kwarg.arg)
            found[node.name] = " ".join(words)
    return {aliases.get(name, name): words for name, words in found.items()}


rows = set()
with open(table, encoding="utf-8") as file:
    for row in csv.DictReader(file):
        if row["kind"] not in folders or row["tier"] == "later":
            continue
        base = os.path.join(package, folders[row["kind"]], row["file"])
        path = base + ".py" if os.path.exists(base + ".py") else os.path.join(base, "__init__.py")
        if not os.path.exists(path):
            print("no", path, file=sys.stderr)
            continue
        for name, words in functions(path).items():
            rows.add((row["kind"], row["tier"], row["virtual_name"], name, words))
for row in sorted(rows):
    print("\t".join(row))
