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
    with source_for_tracebacks(path, source):
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
        return module.run()


@contextlib.contextmanager
def source_for_tracebacks(path, source):
    import linecache

    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    try:
        yield
    finally:
        linecache.cache.pop(path, None)


def wanted(request, kind):
    """The function that a request names, ready to be called."""
    name = request["name"]
    function = salt_function(kind, name) if request.get("salt") else find(kind, name)
    if function is None:
        raise KeyError(name)
    begin(request.get("job"))
    module = sys.modules.get(getattr(function, "__module__", None))
    if module is not None:
        for key, value in decode(request.get("scope", {})).items():
            setattr(module, key, value)
    CONTEXT.pop("retcode", None)
    return function


def tell_retcode():
    """`__context__["retcode"]`, which code may have set."""
    retcode = CONTEXT.get("retcode")
    if isinstance(retcode, int) and retcode != 0:
        send({"retcode": int(retcode)})


def call(request):
    function = wanted(request, request["kind"])
    args, kwargs = decode(request["args"]), decode(request["kwargs"])
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as exc:
        exc.halite_arguments = True
        raise TypeError("%s() %s" % (function.__name__, exc)) from None
    except ValueError:
        pass
    try:
        return encode(function(*args, **kwargs))
    finally:
        tell_retcode()


def render(request):
    """A renderer: a text comes as something to be read."""
    function = wanted(request, "renderers")
    data, kwargs = decode(request["data"]), decode(request["kwargs"])
    if isinstance(data, str):
        data = io.StringIO(data)
    kwargs["renderers"] = RENDERERS
    returned = function(data, request["saltenv"], request["sls"], **kwargs)
    return encode(returned.read() if hasattr(returned, "read") else returned)


def execute(request):
    """An executor, around a function of users or of the host."""
    function = wanted(request, "executors")
    fun, data = request["fun"], decode(request["data"])
    args, kwargs = decode(request["args"]), decode(request["kwargs"])
    inner = find("modules", fun) or host_function(fun)
    try:
        return encode(function(OPTS, data, inner, args, kwargs))
    finally:
        tell_retcode()


def merge(over, into):
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(value, into[key])
        else:
            into[key] = value


def grains(request):
    collected, log = {}, logging.getLogger("salt.loader")
    deep = OPTS.get("grains_deep_merge") is True
    for entry in entries("grains"):
        for function in entry["functions"].values():
            try:
                parameters = inspect.signature(function).parameters
                known = {**GRAINS, **collected}
                more = function(grains=known) if "grains" in parameters else function()
                if isinstance(more, dict) and deep:
                    merge(more, collected)
                elif isinstance(more, dict):
                    collected.update(more)
            except HostGone:
                raise
            except BaseException as exc:
                text = "Failed to load grains defined in grain file %s.%s: %s"
                log.critical(text, entry["stem"], function.__name__, error_of(exc)["trace"])
    return collected


def handle(request):
    global READING
    do = request["do"]
    READING = do in ("grains", "list")
    if siblings_changed():
        forget_siblings()
    if do == "data":
        # Salt's functions keep the options that they were loaded with.
        LOADERS.clear()
        for name, value in request["data"].items():
            SENT[name] = decode(value)
        fill()
        return None
    if do == "dirs":
        DIRS.clear()
        DIRS.update(request["dirs"])
        return None
    if do == "code":
        return encode(code(request["source"], request["path"], decode(request["names"])))
    if do == "objects":
        return encode(objects(request["source"], request["path"], decode(request["names"])))
    if do == "call":
        return call(request)
    if do == "render":
        return render(request)
    if do == "execute":
        return execute(request)
    if do == "grains":
        return encode(grains(request))
    if do == "list":
        return encode(listing(request["kind"]))
    if do == "find":
        return encode(salt_find(request))
    if do == "catalog":
        return encode(salt_catalog(request))
    if do == "forget":
        LOADERS.clear()
        forget_siblings()
        CONTEXT.clear()
        return None
    raise ValueError("unknown request %r" % (do,))


def main():
    limit_memory(int(sys.argv[1]))
    sys.dont_write_bytecode = True
    _thread.start_new_thread(outlive_host_never, ())
    log_to_host(int(sys.argv[2]))
    if ENDLESS:
        sys.stdout, sys.stderr = Printed(1, logging.INFO), Printed(2, logging.WARNING)
    global REAL_SALT, WORKING
    REAL_SALT = has_salt()
    if not REAL_SALT:
        sys.meta_path.append(StandInFinder)
    send({"ready": sys.version.split()[0]})
    while True:
        try:
            request = receive()
            WORKING = True
            reply = {"value": handle(request)}
        except HostGone:
            return
        except BaseException as exc:
            reply = {"error": error_of(exc)}
        with ASKING:
            # Who asks from now on has come too late.
            WORKING = False
            try:
                send(reply)
            except (TypeError, ValueError, RecursionError) as exc:
                send({"error": error_of(exc)})


main()
