# --- errors -----------------------------------------------------------------


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


