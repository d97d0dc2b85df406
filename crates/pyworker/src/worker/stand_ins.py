# --- the exceptions of Salt -------------------------------------------------


def stand_ins():
    """Where Salt is not installed: the parts of it that modules import most."""
    salt = types.ModuleType("salt")
    salt.__path__ = []
    exceptions = types.ModuleType("salt.exceptions")

    class SaltException(Exception):
        __qualname__ = "SaltException"

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
        ("SaltClientError", "SaltException"),
        ("SaltMasterError", "SaltException"),
        ("SaltDeserializationError", "SaltException"),
        ("SaltNoMinionsFound", "SaltException"),
        ("AuthenticationError", "SaltException"),
        ("AuthorizationError", "SaltException"),
        ("EauthAuthenticationError", "SaltException"),
        ("FileserverConfigError", "SaltException"),
        ("FileLockError", "SaltException"),
        ("TemplateError", "SaltException"),
        ("CheckError", "SaltException"),
        ("UnsupportedAlgorithm", "SaltException"),
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
    # The way to users' code is of no use to them.
    where, ours = exc.__traceback__, send.__code__.co_filename
    while where is not None and where.tb_frame.f_code.co_filename.startswith((ours, "<frozen importlib")):
        where = where.tb_next
    trace = "".join(traceback.format_exception(type(exc), exc, where or exc.__traceback__))
    return {
        "class": "%s.%s" % (type(exc).__module__, type(exc).__qualname__),
        "bases": [cls.__name__ for cls in type(exc).__mro__],
        "message": str(exc),
        "trace": trace,
    }
