# --- pyobjects: states that Python code declares ----------------------------

STATE_REQUISITES = [
    kind + end for end in ("", "_in") for kind in ("listen", "onchanges", "onfail", "require", "watch", "use")
]
# The lines of an SLS that are no Python: `import salt://PATH`, and
# `from salt://PATH import NAME as OTHER, ...`.
IMPORT_LINE = re.compile(r"\s*(?:import\s+(salt://.*?)|from\s+(salt://\S*)\s+import\s+(.*?))\s*\Z")
IMPORTS_DEEP_MAX = 20


class DuplicateState(Exception):
    __module__ = "salt.utils.pyobjects"


class InvalidFunction(Exception):
    __module__ = "salt.utils.pyobjects"


class Declarations:
    """What the code of one SLS has declared so far."""

    def __init__(self):
        self.states, self.extends, self.includes = {}, {}, []
        # Requisites of the `with` blocks around the code that runs.
        self.around = []
        # Code of other files gives names only.
        self.counts = False

    def include(self, *names):
        if self.counts:
            self.includes += names

    def add(self, state):
        if not self.counts:
            return
        into, name = (self.extends, state.id.name) if isinstance(state.id, Extended) else (self.states, state.id)
        functions = into.setdefault(name, {})
        if state.function in functions:
            raise DuplicateState("A state with id ''%s'', type ''%s'' exists" % (name, state.function))
        for requisite in self.around:
            state.arguments.setdefault(requisite.kind, []).append(requisite)
        functions[state.function] = state.data()

    def data(self):
        found = dict(self.states)
        if self.includes:
            found["include"] = self.includes
        if self.extends:
            found["extend"] = self.extends
        return found


class Extended:
    """`extend("id")`: a state of another SLS."""

    def __init__(self, name):
        self.name = name


class Requisite:
    """`Service("id")`, and what a declared state is to others."""

    def __init__(self, declarations, kind, module, name):
        self.declarations, self.kind, self.module, self.name = declarations, kind, module, name

    def __enter__(self):
        self.declarations.around.append(self)

    def __exit__(self, *_of_error):
        self.declarations.around.pop()


class DeclaredState(Requisite):
    """`Service.running("id", ...)`."""

    def __init__(self, declarations, module, function, name, arguments):
        super().__init__(declarations, "require", module, name.name if isinstance(name, Extended) else name)
        self.id, self.function, self.arguments = name, "%s.%s" % (module, function), arguments
        for kind in STATE_REQUISITES:
            if kind in arguments:
                given = arguments[kind]
                arguments[kind] = list(given) if hasattr(given, "__iter__") else [given]
        declarations.add(self)

    def data(self):
        for kind in STATE_REQUISITES:
            if kind in self.arguments:
                self.arguments[kind] = [
                    {one.module: one.name} if isinstance(one, Requisite) else one for one in self.arguments[kind]
                ]
        return [{name: self.arguments[name]} for name in sorted(self.arguments)]


class StateModule:
    """`Service`: its attributes declare states, and it is called for a requisite."""

    def __init__(self, declarations, module, functions):
        self.declarations, self.module, self.functions = declarations, module, functions

    def __getattr__(self, function):
        if function not in self.functions:
            text = "The function '%s' does not exist in the StateFactory for '%s'"
            raise InvalidFunction(text % (function, self.module))

        def declare(id_, **arguments):
            return DeclaredState(self.declarations, self.module, function, id_, arguments)

        return declare

    def __call__(self, id_, requisite="require"):
        return Requisite(self.declarations, requisite, self.module, id_)


class MapType(type):
    """A class takes over the attributes of those classes within it whose grain
    matches: later ones win, in the order of `priority` if that is given."""

    def __init__(cls, name, bases, members):
        super().__init__(name, bases, members)
        matches = [
            (getattr(inner, "__grain__", "os_family"), getattr(inner, "__match__", called), inner)
            for called, inner in members.items()
            if not called.startswith("_") and inspect.isclass(inner)
        ]
        first = list(members.get("priority", ()))
        matches.sort(key=lambda match: first.index(match[0]) if match[0] in first else len(first))
        attributes = {}
        for grain, value, inner in matches:
            if traverse(GRAINS, grain, "") == value:
                attributes.update((key, one) for key, one in vars(inner).items() if not key.startswith("_"))
        if "merge" in members:
            attributes.update(SALT["pillar.get"](members["merge"]) or {})
        for key, one in attributes.items():
            setattr(cls, key, one)


class GrainsMap(metaclass=MapType):
    pass


def state_modules(declarations):
    """The modules of state functions, as `pyobjects` calls them: `SshAuth`."""
    modules = {}
    for name in SALT["sys.list_state_functions"]() if "sys.list_state_functions" in SALT else ():
        module, _, function = name.partition(".")
        modules.setdefault(module, set()).add(function)
    return {
        "".join(part.capitalize() for part in module.split("_")): StateModule(declarations, module, functions)
        for module, functions in modules.items()
    }


def without_imports(source, names, saltenv, deep):
    """The source with the lines emptied that import from `salt://`, and its
    names, with those that they import."""
    if deep > IMPORTS_DEEP_MAX:
        raise ImportError("files import each other more than %d deep" % IMPORTS_DEEP_MAX)
    lines, names = source.splitlines(), dict(names)
    for at, line in enumerate(lines):
        found = IMPORT_LINE.match(line)
        if found is None:
            continue
        url, lines[at] = (found[1] or found[2]).strip(), ""
        path = SALT["cp.cache_file"](url, saltenv=saltenv)
        if not path:
            raise ImportError("Could not find the file '%s'" % url)
        with open(path, encoding="utf-8") as file:
            text, theirs = without_imports(file.read(), names, saltenv, deep + 1)
        exec(compile(text, url, "exec", dont_inherit=True), theirs)
        if found[3] is None:
            names[os.path.splitext(os.path.basename(path))[0]] = types.SimpleNamespace(**theirs)
            continue
        for wanted in found[3].split(","):
            name, _, alias = (part.strip() for part in wanted.partition(" as "))
            if name not in theirs:
                raise ImportError("'%s' was not found in '%s'" % (name, url))
            names[alias or name] = theirs[name]
    return "\n".join(lines) + "\n", names


def objects(source, path, names):
    """The data of an SLS of `pyobjects`."""
    declarations, saltenv = Declarations(), names.get("saltenv") or "base"
    seen = {
        **state_modules(declarations),
        "include": declarations.include, "extend": Extended, "Map": GrainsMap, "salt": SALT,
        "StateFactory": lambda module: StateModule(declarations, module, AnyName()),
        **{name: SALT[name + ".get"] for name in ("pillar", "grains", "mine", "config") if name + ".get" in SALT},
        "__salt__": SALT, "__pillar__": PILLAR, "__grains__": GRAINS, "__opts__": OPTS, "__sls__": names.get("sls", ""),
    }
    text, seen = without_imports(source, seen, saltenv, 0)
    declarations.counts = True
    with source_for_tracebacks(path, source):
        exec(compile(text, path, "exec", dont_inherit=True), seen)
    return declarations.data()


class AnyName:
    def __contains__(self, name):
        return not name.startswith("_")


