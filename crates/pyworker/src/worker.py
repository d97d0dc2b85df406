"""The worker: runs Python code of users for a Halite program.

It speaks frames over its first standard input and output: four bytes of
length, the most significant first, then JSON. What code prints goes to
standard error instead. It is started by the crate `halite-pyworker`, whose
documentation describes the messages.
"""
import _thread
import base64
import builtins
import importlib.util
import inspect
import json
import os
import select
import struct
import sys
import time
import traceback
import types

FROM_HOST = os.fdopen(os.dup(0), "rb")
TO_HOST = os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)


def limit_memory(limit):
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        pass


def outlive_host_never():
    """Ends this process when its host is gone, also within code without an end:
    `receive` would never be reached. The second is for an orderly end."""
    host = select.poll()
    host.register(FROM_HOST.fileno(), 0)
    while not host.poll():
        pass
    time.sleep(1)
    os._exit(1)


class HostGone(BaseException):
    """There is nobody left to answer."""


FORKED = False


def after_fork():
    """A process that code has forked keeps quiet: the pipes are its parent's."""
    global FORKED
    FORKED = True
    for pipe in (FROM_HOST, TO_HOST):
        os.close(pipe.fileno())


os.register_at_fork(after_in_child=after_fork)


# --- values -----------------------------------------------------------------


def encode(value, depth=0):
    if depth > 100:
        raise ValueError("the value is nested too deeply")
    if value is None or value is True or value is False or type(value) is str:
        return value
    if isinstance(value, int):
        value = int(value)
        return value if -(2**63) <= value < 2**63 else {"__i": str(value)}
    if isinstance(value, float):
        return value if value - value == 0 else {"__f": repr(float(value))}
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return {"__b": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, dict):
        keys = list(value.keys())
        if all(isinstance(key, str) and not key.startswith("__") for key in keys):
            return {str(key): encode(value[key], depth + 1) for key in keys}
        return {"__m": [[encode(key, depth + 1), encode(value[key], depth + 1)] for key in keys]}
    if isinstance(value, (list, tuple, set, frozenset)) or inspect.isgenerator(value):
        return [encode(item, depth + 1) for item in value]
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        return encode({key: value[key] for key in value.keys()}, depth)
    return str(value)


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1:
            (tag, inner), = value.items()
            if tag == "__b":
                return base64.b64decode(inner)
            if tag == "__i":
                return int(inner)
            if tag == "__f":
                return float(inner)
            if tag == "__m":
                return {hashable(decode(key)): decode(item) for key, item in inner}
        return {key: decode(item) for key, item in value.items()}
    return value


def hashable(key):
    return tuple(key) if isinstance(key, list) else key


def send(message):
    if FORKED:
        # What a forked process returns from has been answered by its parent.
        os._exit(0)
    frame = json.dumps(message).encode("utf-8", "surrogatepass")
    TO_HOST.write(struct.pack(">I", len(frame)) + frame)
    TO_HOST.flush()


def receive():
    head = FROM_HOST.read(4)
    if len(head) < 4:
        raise HostGone
    (length,) = struct.unpack(">I", head)
    return json.loads(FROM_HOST.read(length))


def ask(message):
    """Asks the host something while it waits for an answer of ours."""
    if FORKED:
        raise RuntimeError("a forked process cannot call functions of the minion")
    send(message)
    reply = receive()
    if "error" in reply:
        raise_error(reply["error"])
    return decode(reply.get("value"))


# --- the exceptions of Salt -------------------------------------------------


def stand_ins():
    """Where Salt is not installed: the parts of it that modules import most."""
    salt = types.ModuleType("salt")
    salt.__path__ = []
    exceptions = types.ModuleType("salt.exceptions")

    class SaltException(Exception):
        def __init__(self, message="", *args, **kwargs):
            super().__init__(message)
            self.message = self.strerror = str(message)

    for name, base in (
        ("SaltException", None),
        ("CommandExecutionError", "SaltException"),
        ("CommandNotFoundError", "SaltException"),
        ("SaltInvocationError", "SaltException"),
        ("SaltRenderError", "SaltException"),
        ("LoaderError", "SaltException"),
        ("MinionError", "SaltException"),
        ("TimedProcTimeoutError", "SaltException"),
        ("SaltSystemExit", "SaltException"),
        ("ArgumentValueError", "CommandExecutionError"),
        ("SaltConfigurationError", "SaltException"),
        ("SaltCloudException", "SaltException"),
        ("SaltReqTimeoutError", "SaltException"),
    ):
        if base is None:
            cls = SaltException
        else:
            bases = (getattr(exceptions, base),)
            if name == "SaltInvocationError":
                bases += (TypeError,)
            cls = type(name, bases, {})
        cls.__module__ = "salt.exceptions"
        setattr(exceptions, name, cls)

    def module(name, **members):
        new = types.ModuleType(name)
        new.__path__ = []
        for key, member in members.items():
            setattr(new, key, member)
        sys.modules[name] = new
        parent, _, last = name.rpartition(".")
        setattr(sys.modules[parent], last, new)

    sys.modules["salt"] = salt
    sys.modules["salt.exceptions"] = exceptions
    salt.exceptions = exceptions

    import shutil

    def to_unicode(text, encoding="utf-8", errors="strict", normalize=False):
        return text.decode(encoding or "utf-8", errors) if isinstance(text, bytes) else str(text)

    def to_bytes(text, encoding="utf-8", errors="strict"):
        return bytes(text) if isinstance(text, (bytes, bytearray)) else text.encode(encoding or "utf-8", errors)

    def clean_kwargs(**kwargs):
        return {key: value for key, value in kwargs.items() if not key.startswith("__")}

    yes, no = (lambda: True), (lambda: False)
    module("salt.utils")
    module("salt.utils.files", fopen=open)
    module("salt.utils.path", which=lambda exe=None: shutil.which(exe) if exe else None, join=os.path.join)
    module(
        "salt.utils.platform",
        is_linux=yes, is_windows=no, is_darwin=no, is_freebsd=no, is_openbsd=no, is_netbsd=no,
        is_sunos=no, is_smartos=no, is_aix=no, is_proxy=no,
    )
    module("salt.utils.stringutils", to_unicode=to_unicode, to_str=to_unicode, to_bytes=to_bytes)
    module("salt.utils.args", clean_kwargs=clean_kwargs)
    module("salt.utils.json", loads=json.loads, dumps=json.dumps, load=json.load, dump=json.dump)
    module(
        "salt.utils.data",
        traverse_dict_and_list=traverse, traverse_dict=traverse,
        is_true=lambda value=None: str(value).lower() == "true" if isinstance(value, str) else bool(value),
    )
    try:
        import yaml

        module("salt.utils.yaml", safe_load=yaml.safe_load, safe_dump=yaml.safe_dump, load=yaml.safe_load, dump=yaml.dump)
    except ImportError:
        pass


def traverse(data, key, default=None, delimiter=":"):
    for part in str(key).split(delimiter):
        if isinstance(data, list):
            try:
                data = data[int(part)]
                continue
            except (ValueError, IndexError):
                return default
        try:
            data = data[part]
        except (KeyError, TypeError):
            return default
    return data


def has_salt():
    try:
        return importlib.util.find_spec("salt.exceptions") is not None
    except (ImportError, ValueError):
        return False


def raise_error(error):
    """An error of a function of the host, as Salt would raise it."""
    import salt.exceptions

    name = error["class"].rpartition(".")[2]
    cls = getattr(salt.exceptions, name, None) or getattr(builtins, name, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        cls = salt.exceptions.CommandExecutionError
    raise cls(error["message"])


def error_of(exc):
    trace = "".join(traceback.format_exception(type(exc), exc, exc.__traceback__))
    return {
        "class": "%s.%s" % (type(exc).__module__, type(exc).__qualname__),
        "bases": [cls.__name__ for cls in type(exc).__mro__],
        "message": str(exc),
        "trace": trace,
    }


# --- what code sees ---------------------------------------------------------

OPTS, GRAINS, PILLAR, CONTEXT = {}, {}, {}, {}
DATA = {"opts": OPTS, "grains": GRAINS, "pillar": PILLAR}
DIRS = {}


def host_function(name):
    def function(*args, **kwargs):
        return ask({"salt": name, "args": encode(args), "kwargs": encode(kwargs)})

    function.__name__ = name.rpartition(".")[2]
    return function


class Functions(dict):
    """`__salt__`: functions of the host, and those of other modules here."""

    def __missing__(self, name):
        own = find("modules", name)
        if own is not None:
            return own
        if not ask({"has": name}):
            raise KeyError(name)
        self[name] = function = host_function(name)
        return function

    def __contains__(self, name):
        try:
            self[name]
        except KeyError:
            return False
        return True

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def __getattr__(self, module):
        if module.startswith("__"):
            raise AttributeError(module)
        return Attributes(self, module)


class Attributes:
    """`__salt__.module.function`."""

    def __init__(self, functions, module):
        self._functions, self._module = functions, module

    def __getattr__(self, name):
        try:
            return self._functions["%s.%s" % (self._module, name)]
        except KeyError:
            raise AttributeError(name) from None


class Utilities(dict):
    """`__utils__`: the functions of synced `_utils`."""

    def __missing__(self, name):
        own = find("utils", name)
        if own is None:
            raise KeyError(name)
        return own

    def __contains__(self, name):
        return find("utils", name) is not None


class States(dict):
    """`__states__`: state functions of the host and of synced `_states`."""

    def __missing__(self, name):
        own = find("states", name)
        if own is not None:
            return own

        def function(*args, **kwargs):
            return ask({"state": name, "args": encode(args), "kwargs": encode(kwargs)})

        return function

    def __contains__(self, name):
        return find("states", name) is not None or bool(ask({"has_state": name}))


class Runners(dict):
    """`__runners__`: the runners of the host."""

    def __missing__(self, name):
        def function(*args, **kwargs):
            asked = {"arg": list(args), "kwarg": kwargs}
            return ask({"salt": "saltutil.runner", "args": [name], "kwargs": encode(asked)})

        return function

    def __contains__(self, name):
        return True


SALT, UTILS, STATES, RUNNERS = Functions(), Utilities(), States(), Runners()
LOADED = {}


def dunders(module):
    module.__salt__ = SALT
    module.__utils__ = UTILS
    module.__states__ = STATES
    module.__runners__ = RUNNERS
    module.__opts__ = OPTS
    module.__grains__ = GRAINS
    module.__pillar__ = PILLAR
    module.__context__ = CONTEXT
    module.__env__ = OPTS.get("saltenv") or "base"
    module.__proxy__ = {}


def load(kind, path):
    """The module of a file; loaded again if the file is another one."""
    stat = os.stat(path)
    stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    known = LOADED.get(path)
    if known is not None and known["stamp"] == stamp:
        return known
    stem = os.path.basename(path).rpartition(".")[0]
    if os.path.basename(path) == "__init__.py":
        stem = os.path.basename(os.path.dirname(path))
    entry = {"stamp": stamp, "name": stem, "functions": {}, "why": None}
    LOADED[path] = entry
    name = "halite_ext.%s.%s" % (kind, stem)
    for parent in ("halite_ext", "halite_ext." + kind):
        if parent not in sys.modules:
            package = types.ModuleType(parent)
            package.__path__ = []
            sys.modules[parent] = package
    try:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        dunders(module)
        spec.loader.exec_module(module)
        # What the code set itself to begin with is not what counts.
        dunders(module)
        virtual = module.__virtual__() if hasattr(module, "__virtual__") else True
    except BaseException as exc:
        if isinstance(exc, SystemExit) and not exc.args:
            raise
        if isinstance(exc, ImportError):
            entry["why"] = "'%s' __virtual__ returned False: %s" % (stem, exc)
        else:
            entry["why"] = "'%s' could not be loaded: %s: %s" % (stem, type(exc).__name__, exc)
        entry["trace"] = traceback.format_exc()
        print(entry["trace"], file=sys.stderr)
        return entry
    why = None
    if isinstance(virtual, tuple):
        virtual, why = (virtual + (None,))[:2]
    entry["name"] = getattr(module, "__virtualname__", stem)
    if isinstance(virtual, str):
        entry["name"] = virtual
    if not virtual:
        entry["why"] = "'%s' __virtual__ returned False%s" % (entry["name"], ": %s" % why if why else "")
        return entry
    alias = getattr(module, "__func_alias__", {})
    public = getattr(module, "__load__", None)
    for member in dir(module) if public is None else public:
        value = getattr(module, member, None)
        if member.startswith("_") or not callable(value) or inspect.isclass(value):
            continue
        entry["functions"][alias.get(member, member)] = value
    if callable(vars(module).get("__init__")) and kind != "grains":
        try:
            module.__init__(OPTS)
        except Exception:
            print(traceback.format_exc(), file=sys.stderr)
    return entry


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
        if entry["name"] == module and function in entry["functions"]:
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
    for entry in entries(kind):
        functions = {}
        for name, function in entry["functions"].items():
            functions[name] = {
                "signature": signature(function),
                "doc": function.__doc__ or "",
                "python": getattr(function, "__name__", name),
            }
        found.append({"name": entry["name"], "why": entry["why"], "functions": functions})
    return found


# --- Salt itself ------------------------------------------------------------

REAL_SALT = False
LOADERS = {}


class OursFirst(Functions):
    """`__salt__` of the functions of the installed Salt: those of users and of
    the host, then Salt's."""

    def __init__(self, theirs):
        super().__init__()
        self.theirs = theirs

    def __missing__(self, name):
        own = find("modules", name)
        if own is None:
            own = host_function(name) if ask({"has_own": name}) else self.theirs[name]
        self[name] = own
        return own


class OneFunction:
    """Plugins of one function each, which Salt calls by their names alone."""

    def __init__(self, plugins, suffix):
        self.plugins, self.suffix = plugins, suffix

    def __getitem__(self, name):
        if not name.endswith(self.suffix):
            raise KeyError(name)
        return self.plugins[name[: -len(self.suffix)]]


def loader(kind):
    """The functions of the installed Salt, where there is one."""
    if kind not in LOADERS:
        import salt.config
        import salt.loader

        opts = dict(salt.config.DEFAULT_MINION_OPTS)
        opts.update(OPTS)
        # Synced modules are found by us, and call ours.
        opts["extension_modules"] = ""
        utils = salt.loader.utils(opts)
        functions = salt.loader.minion_mods(opts, utils=utils)
        LOADERS["modules"] = functions
        functions.pack["__salt__"] = ours_first = OursFirst(functions)
        if kind == "states":
            serializers = salt.loader.serializers(opts)
            LOADERS[kind] = salt.loader.states(opts, ours_first, utils, serializers)
        elif kind == "beacons":
            LOADERS[kind] = salt.loader.beacons(opts, ours_first)
        elif kind == "returners":
            LOADERS[kind] = salt.loader.returners(opts, ours_first)
        elif kind == "sdb":
            LOADERS[kind] = salt.loader.sdb(opts, functions=ours_first, utils=utils)
        elif kind == "pillar":
            LOADERS[kind] = OneFunction(salt.loader.pillars(opts, ours_first), ".ext_pillar")
        elif kind == "tops":
            LOADERS[kind] = OneFunction(salt.loader.tops(opts), ".top")
        elif kind == "auth":
            LOADERS[kind] = salt.loader.auth(opts)
        elif kind == "runners":
            LOADERS[kind] = salt.loader.runner(opts)
        elif kind == "engines":
            LOADERS[kind] = salt.loader.engines(opts, ours_first, RUNNERS, utils)
    return LOADERS[kind]


def salt_function(kind, name):
    if not REAL_SALT:
        return None
    try:
        return loader(kind)[name]
    except KeyError:
        return None


def salt_find(request):
    function = salt_function(request["kind"], request["name"])
    if function is None:
        return {"salt": REAL_SALT}
    return {
        "salt": True,
        "signature": signature(function),
        "doc": function.__doc__ or "",
        "python": getattr(function, "__name__", request["name"]),
    }


def salt_catalog(request):
    """The functions of the installed Salt: all, or those of one module. What is
    not found within some seconds is left out."""
    if not REAL_SALT:
        return {"salt": False, "functions": []}
    functions = loader(request["kind"])
    module, until = request.get("module"), time.monotonic() + request["seconds"]

    def found():
        start = "" if module is None else module + "."
        return [name for name in list(known) if name.startswith(start)]

    try:
        known, load, files = functions._dict, functions._load_module, list(functions.file_mapping)
    except AttributeError:
        known = dict.fromkeys(functions)
    else:
        # Files that are named like the module come first: most others need not
        # be loaded then.
        files.sort(key=lambda name: (module is not None and module not in name, name))
        for name in files:
            if time.monotonic() > until or (module is not None and module not in name and found()):
                break
            if name not in functions.loaded_files:
                try:
                    load(name)
                except Exception:
                    print(traceback.format_exc(), file=sys.stderr)
    listed = []
    for name in found():
        try:
            function = functions[name]
        except KeyError:
            continue
        doc = (function.__doc__ or "") if request["docs"] else ""
        listed.append([name, signature(function), doc])
    return {"salt": True, "functions": listed}


# --- requests ---------------------------------------------------------------


def code(source, path, names):
    """`run()` of a text of Python: an SLS or a template."""
    module = types.ModuleType("halite_sls")
    module.__file__ = path
    dunders(module)
    module.salt, module.grains, module.pillar, module.opts = SALT, GRAINS, PILLAR, OPTS
    for name, value in names.items():
        setattr(module, name, value)
    module.__sls__ = names.get("sls", "")
    module.__env__ = names.get("saltenv") or "base"
    sys.modules["halite_sls"] = module
    lines = source.splitlines(True)
    import linecache

    linecache.cache[path] = (len(source), None, lines, path)
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
        return module.run()
    finally:
        linecache.cache.pop(path, None)


def call(request):
    kind, name = request["kind"], request["name"]
    function = salt_function(kind, name) if request.get("salt") else find(kind, name)
    if function is None:
        raise KeyError(name)
    module = sys.modules.get(getattr(function, "__module__", None))
    if module is not None:
        for key, value in decode(request.get("scope", {})).items():
            setattr(module, key, value)
    args, kwargs = decode(request["args"]), decode(request["kwargs"])
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as exc:
        exc.halite_arguments = True
        raise TypeError("%s() %s" % (function.__name__, exc)) from None
    except ValueError:
        pass
    return function(*args, **kwargs)


def merge(over, into):
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(value, into[key])
        else:
            into[key] = value


def grains(request):
    collected = {}
    deep = OPTS.get("grains_deep_merge") is True
    for entry in entries("grains"):
        for function in entry["functions"].values():
            if getattr(function, "__module__", "").startswith("halite_ext"):
                try:
                    parameters = inspect.signature(function).parameters
                    known = dict(GRAINS, **collected)
                    more = function(grains=known) if "grains" in parameters else function()
                    if isinstance(more, dict) and deep:
                        merge(more, collected)
                    elif isinstance(more, dict):
                        collected.update(more)
                except Exception:
                    print(traceback.format_exc(), file=sys.stderr)
    return collected


def handle(request):
    do = request["do"]
    if do == "data":
        # Salt's functions keep the options that they were loaded with.
        LOADERS.clear()
        for name, value in request["data"].items():
            target = DATA[name]
            target.clear()
            target.update(decode(value))
        OPTS.setdefault("grains", GRAINS)
        OPTS.setdefault("pillar", PILLAR)
        OPTS["grains"], OPTS["pillar"] = GRAINS, PILLAR
        if OPTS.pop("__without_pillar", False):
            del OPTS["pillar"]
        return None
    if do == "dirs":
        DIRS.clear()
        DIRS.update(request["dirs"])
        return None
    if do == "code":
        return code(request["source"], request["path"], decode(request["names"]))
    if do == "call":
        return call(request)
    if do == "grains":
        return grains(request)
    if do == "list":
        return listing(request["kind"])
    if do == "find":
        return salt_find(request)
    if do == "catalog":
        return salt_catalog(request)
    if do == "forget":
        LOADERS.clear()
        LOADED.clear()
        SALT.clear()
        CONTEXT.clear()
        return None
    raise ValueError("unknown request %r" % (do,))


def main():
    limit_memory(int(sys.argv[1]))
    sys.dont_write_bytecode = True
    _thread.start_new_thread(outlive_host_never, ())
    global REAL_SALT
    REAL_SALT = has_salt()
    if not REAL_SALT:
        stand_ins()
    send({"ready": sys.version.split()[0]})
    while True:
        try:
            request = receive()
            reply = {"value": encode(handle(request))}
        except HostGone:
            return
        except BaseException as exc:
            reply = {"error": error_of(exc)}
        try:
            send(reply)
        except (TypeError, ValueError, RecursionError) as exc:
            send({"error": error_of(exc)})


main()
