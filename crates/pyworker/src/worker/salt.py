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
        elif kind == "renderers":
            LOADERS[kind] = OneFunction(salt.loader.render(opts, ours_first), ".render")
        elif kind == "output":
            LOADERS[kind] = OneFunction(salt.loader.outputters(opts), ".output")
        elif kind == "executors":
            LOADERS[kind] = salt.loader.executors(opts, functions=ours_first)
        elif kind == "serializers":
            LOADERS[kind] = salt.loader.serializers(opts)
        elif kind == "queues":
            LOADERS[kind] = salt.loader.queues(opts)
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
                    logging.getLogger("salt.loader").debug("%s", traceback.format_exc())
    listed = []
    for name in found():
        try:
            function = functions[name]
        except KeyError:
            continue
        doc = (function.__doc__ or "") if request["docs"] else ""
        listed.append([name, signature(function), doc])
    return {"salt": True, "functions": listed}
