# --- files of users ---------------------------------------------------------

LOADED = {}

# What Salt calls the modules of a kind: their names are those of loggers, too.
TAGS = {
    "modules": "module",
    "renderers": "render",
    "executors": "executor",
}
PACKAGE = "salt.loaded.ext"


def dunders(module, kind=None):
    module.__salt__ = SALT
    module.__utils__ = UTILS
    module.__states__ = STATES
    module.__runners__ = RUNNERS
    module.__serializers__ = SERIALIZERS
    module.__opts__ = OPTS
    module.__grains__ = GRAINS
    module.__pillar__ = PILLAR
    module.__context__ = CONTEXT
    module.__env__ = OPTS.get("saltenv") or "base"
    module.__user__ = OPTS.get("user") or "root"
    module.__proxy__ = {}
    if kind in ("runners", "wheel"):
        module.__jid_event__ = JOB_EVENTS


def package(name):
    """An empty package, for modules to be in."""
    for known in (name[:end] for end in range(1, len(name) + 1) if name[end : end + 1] in ("", ".")):
        if known == "salt":
            importlib.import_module(known)
        elif known not in sys.modules:
            sys.modules[known] = made = types.ModuleType(known)
            made.__path__ = []


# What users' files have imported from their own directories: the modules by
# name, each with its file and the stamp of that.
SIBLINGS = {}


def stamp_of(path):
    """What tells a file from another one in its place."""
    stat = os.stat(path)
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


@contextlib.contextmanager
def importable_siblings(path):
    """While a file is loaded, it may import the files of `_utils` and those
    beside it, after whatever Python itself has. Only whole paths count: one from
    the current directory on would let others put code there."""
    own = os.path.dirname(path)
    if os.path.basename(path) == "__init__.py":
        own = os.path.dirname(own)
    places = [place for place in [*DIRS.get("utils", []), own] if os.path.isabs(place)]
    added = [place for place in dict.fromkeys(places) if place not in sys.path]
    importlib.invalidate_caches()
    sys.path.extend(added)
    try:
        yield
    finally:
        for place in added:
            sys.path.remove(place)
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and not name.startswith(PACKAGE + ".") and file.startswith(tuple(os.path.join(place, "") for place in added)):
                with contextlib.suppress(OSError):
                    SIBLINGS[name] = (file, stamp_of(file))


def siblings_changed():
    try:
        return any(stamp_of(file) != stamp for file, stamp in SIBLINGS.values())
    except OSError:
        return True


def forget_siblings():
    """All files are loaded again, and so is what they import of each other."""
    for name in SIBLINGS:
        sys.modules.pop(name, None)
    SIBLINGS.clear()
    LOADED.clear()
    SALT.clear()


def warn_of_import(kind, path, exc):
    """Without the warning, a module that is not there would be all that is seen."""
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if os.path.isabs(frame.filename)]
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None)
    name = exc.name or "a module"
    if name.partition(".")[0] == "salt" and not REAL_SALT:
        remedy = cure()
    else:
        text = "install it for %s, or set python_executable to a Python that has it"
        remedy = text % sys.executable
    text = "Custom module %s of _%s is not loaded, because importing %s failed%s: %s; %s"
    at = " in line %s" % line if line else ""
    logging.getLogger("salt.loader").warning(text, path, kind, name, at, exc, remedy)


def load(kind, path):
    """The module of a file; loaded again if the file is another one."""
    stamp = stamp_of(path)
    known = LOADED.get(path)
    if known is not None and known["stamp"] == stamp:
        return known
    stem = os.path.basename(path).rpartition(".")[0]
    if os.path.basename(path) == "__init__.py":
        stem = os.path.basename(os.path.dirname(path))
    entry = {"stamp": stamp, "stem": stem, "names": [stem], "functions": {}, "out": {}, "why": None}
    LOADED[path] = entry
    parent = "%s.%s" % (PACKAGE, TAGS.get(kind, kind))
    package(parent)
    name = "%s.%s" % (parent, stem)
    for old in [old for old in sys.modules if old == name or old.startswith(name + ".")]:
        del sys.modules[old]
    log = logging.getLogger("salt.loader")
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        dunders(module, kind)
        with importable_siblings(path):
            spec.loader.exec_module(module)
        # What the code set itself to begin with is not what counts, but for the
        # functions that grains bring along: Salt gives them none.
        own = vars(module).get("__salt__") if kind == "grains" else None
        dunders(module, kind)
        if own is not None:
            module.__salt__ = own
    except ImportError as exc:
        warn_of_import(kind, path, exc)
        log.debug("Failed to import %s %s: %s", kind, stem, error_of(exc)["trace"])
        return refused(entry, exc)
    except HostGone:
        raise
    except BaseException as exc:
        log.error("Failed to import module %s: %s", stem, error_of(exc)["trace"])
        return refused(entry, exc)
    why = None
    try:
        virtual = module.__virtual__() if hasattr(module, "__virtual__") else True
    except HostGone:
        raise
    except BaseException as exc:
        why = (
            "Exception raised when processing __virtual__ function for %s. "
            "Module will not be loaded: %s" % (name, exc)
        )
        log.error("%s\n%s", why, error_of(exc)["trace"])
        virtual = False
    if isinstance(virtual, tuple):
        virtual, why = (virtual + (None,))[:2]
    entry["names"] = [getattr(module, "__virtualname__", stem)]
    if isinstance(virtual, str):
        entry["names"] = [virtual]
    if not virtual:
        return refused(entry, why)
    aliases = getattr(module, "__virtual_aliases__", ())
    entry["names"] += [str(alias) for alias in ([aliases] if isinstance(aliases, str) else aliases)]
    if inspect.isfunction(vars(module).get("__init__")) and kind not in ("grains", "utils"):
        try:
            module.__init__(OPTS)
        except Exception as exc:
            log.error("__init__ of %s failed: %s", stem, error_of(exc)["trace"])
            return refused(entry, "__init__ failed")
    entry["functions"] = functions_of(module)
    out = getattr(module, "__outputter__", None)
    if isinstance(out, dict):
        entry["out"] = {str(name): value for name, value in out.items() if isinstance(value, str)}
    return entry


def refused(entry, why):
    """A module that is not there, and why."""
    entry["why"] = "'%s' __virtual__ returned False%s" % (entry["names"][0], ": %s" % (why,) if why else "")
    return entry


def functions_of(module):
    """The functions that a module shows: its own, not those it imports."""
    alias = getattr(module, "__func_alias__", {})
    shown = getattr(module, "__load__", None)
    functions = {}
    for member in dir(module) if shown is None else shown:
        value = getattr(module, member, None)
        if member.startswith("_") or not inspect.isfunction(value) or value.__module__ != module.__name__:
            continue
        functions[alias.get(member, member)] = value
    return functions


def files(kind):
    seen = set()
    for directory in DIRS.get(kind, []):
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        for name in names:
            path = os.path.join(directory, name)
            stem = name[:-3] if name.endswith(".py") else name
            if stem in seen:
                continue
            if name.endswith(".py") and not name.startswith("__"):
                seen.add(stem)
                yield path
            elif os.path.isfile(os.path.join(path, "__init__.py")):
                seen.add(stem)
                yield os.path.join(path, "__init__.py")


def entries(kind, wanted=None):
    """Modules, those whose file has the wanted name first."""
    paths = list(files(kind))
    if wanted is not None:
        paths.sort(key=lambda path: wanted not in path)
    for path in paths:
        yield load(kind, path)


def find(kind, name):
    module, _, function = str(name).partition(".")
    if not function:
        return None
    for entry in entries(kind, module):
        if module in entry["names"] and function in entry["functions"]:
            return entry["functions"][function]
    return None


def signature(function):
    """The parameters without annotations; defaults that are no literals are
    None: the function puts in its own."""
    try:
        known = inspect.signature(function)
        parameters = []
        for parameter in known.parameters.values():
            default = parameter.default
            if default is not parameter.empty and not isinstance(default, (str, int, float, bool, type(None))):
                default = None
            kind = parameter.kind
            if kind is parameter.POSITIONAL_ONLY:
                kind = parameter.POSITIONAL_OR_KEYWORD
            parameters.append(parameter.replace(annotation=parameter.empty, default=default, kind=kind))
        return str(known.replace(parameters=parameters, return_annotation=known.empty))
    except (TypeError, ValueError):
        return "(*args, **kwargs)"


def listing(kind):
    """What there is of a kind: functions with their signatures and texts."""
    found = []
    # One that is called like its file comes before one that only says so.
    for entry in sorted(entries(kind), key=lambda entry: entry["stem"] != entry["names"][0]):
        functions = {}
        for name, function in entry["functions"].items():
            functions[name] = {
                "signature": signature(function),
                "doc": function.__doc__ or "",
                "python": getattr(function, "__name__", name),
                "out": entry["out"].get(name),
            }
        names = entry["names"]
        if entry["why"] is not None and entry["stem"] not in names:
            names = names + [entry["stem"]]
        for name in names:
            why = entry["why"] and entry["why"].replace("'%s'" % names[0], "'%s'" % name, 1)
            found.append({"name": name, "why": why, "functions": functions})
    return found
