# --- what stands in for the parts of salt.utils about data and code ---------


def traverse(data, key, default=None, delimiter=":"):
    for part in str(key).split(delimiter):
        if isinstance(data, list):
            try:
                data = data[int(part)]
                continue
            except IndexError:
                return default
            except ValueError:
                # The first map of the list that has the key.
                data = next((one for one in data if isinstance(one, dict) and part in one), None)
        try:
            data = data[part]
        except (KeyError, TypeError):
            return default
    return data


@stands_in_for("salt.utils.data")
def utils_data():
    def is_true(value=None):
        if isinstance(value, str):
            return value.lower() == "true" or value.lstrip("-").isdigit() and int(value) > 0
        return int(value) > 0 if isinstance(value, (int, float)) else bool(value)

    def is_list(value):
        return isinstance(value, list)

    def is_iter(thing, ignore=(str,)):
        return hasattr(thing, "__iter__") and not isinstance(thing, tuple(ignore))

    def is_dictlist(data):
        return isinstance(data, list) and all(isinstance(one, dict) and len(one) == 1 for one in data)

    def repack_dictlist(data, strict=False, recurse=False, key_cb=None, val_cb=None):
        repacked = {}
        for item in data if isinstance(data, list) else []:
            if isinstance(item, dict) and len(item) == 1:
                (name, value), = item.items()
                if recurse and is_dictlist(value):
                    value = repack_dictlist(value, recurse=True)
            elif isinstance(item, (str, int, float)):
                name, value = item, None
            else:
                return {}
            name = key_cb(name) if key_cb else name
            repacked[name] = val_cb(name, value) if val_cb else value
        return repacked

    def compare_dicts(old=None, new=None):
        old, new = old or {}, new or {}
        return {
            key: {"old": old.get(key, ""), "new": new.get(key, "")}
            for key in sorted({*old, *new})
            if key not in old or key not in new or old[key] != new[key]
        }

    def compare_lists(old=None, new=None):
        found = {"new": [one for one in new if one not in old], "old": [one for one in old if one not in new]}
        return {key: value for key, value in found.items() if value}

    def change(data, leaf):
        if isinstance(data, dict):
            return type(data)((change(key, leaf), change(value, leaf)) for key, value in data.items())
        if isinstance(data, (list, tuple, set)):
            return type(data)(change(item, leaf) for item in data)
        return leaf(data)

    def decode(data, encoding=None, errors="strict", **_kwargs):
        return change(data, lambda one: one.decode(encoding or "utf-8", errors) if isinstance(one, bytes) else one)

    def encode(data, encoding=None, errors="strict", **_kwargs):
        return change(data, lambda one: one.encode(encoding or "utf-8", errors) if isinstance(one, str) else one)

    def stringify(data):
        return [one if isinstance(one, str) else str(one) for one in data]

    def filter_falsey(data, recurse_depth=None, ignore_types=()):
        def clean(value):
            if recurse_depth and isinstance(value, (dict, list)):
                return filter_falsey(value, recurse_depth - 1, ignore_types)
            return value

        def keep(value):
            return type(value) in ignore_types or bool(value)

        if isinstance(data, dict):
            return type(data)((key, one) for key, one in ((key, clean(one)) for key, one in data.items()) if keep(one))
        return [one for one in map(clean, data) if keep(one)] if isinstance(data, list) else data

    def flatten(data, levels=None, preserve_nulls=False, _ids=None):
        flat = []
        for one in data:
            if one in (None, "None", "null") and not preserve_nulls:
                continue
            if isinstance(one, list) and (levels is None or levels >= 1):
                flat += flatten(one, None if levels is None else levels - 1, preserve_nulls)
            else:
                flat.append(one)
        return flat

    def exactly_n(iterable, amount=1):
        return sum(map(bool, iterable)) == amount

    def exactly_one(iterable):
        return exactly_n(iterable)

    def traverse_dict(data, key, default=None, delimiter=":"):
        for part in str(key).split(delimiter):
            try:
                data = data[part]
            except (KeyError, TypeError):
                return default
        return data

    made = {name: value for name, value in vars().items() if inspect.isfunction(value)}
    del made["change"]
    return {**made, "traverse_dict_and_list": traverse, "decode_dict": decode, "decode_list": decode}


@stands_in_for("salt.utils.dictupdate")
def utils_dictupdate():
    def update(dest, upd, recursive_update=True, merge_lists=False, **_kwargs):
        for key, value in upd.items():
            old = dest.get(key)
            if recursive_update and isinstance(old, dict) and isinstance(value, dict):
                update(old, value, True, merge_lists)
            elif merge_lists and isinstance(old, list) and isinstance(value, list):
                dest[key] = old + [one for one in value if one not in old]
            else:
                dest[key] = value
        return dest

    def merge_recurse(obj_a, obj_b, merge_lists=False):
        import copy

        return update(copy.deepcopy(obj_a), obj_b, merge_lists=merge_lists)

    def merge(obj_a, obj_b, strategy="smart", renderer="yaml", merge_lists=False):
        if strategy in ("smart", "recurse"):
            return merge_recurse(obj_a, obj_b, merge_lists)
        if strategy in ("overwrite", "none"):
            return {**obj_a, **obj_b} if strategy == "overwrite" else merge_recurse(obj_a, obj_b)
        if strategy == "list":
            return {**obj_a, **{key: [obj_a[key], one] if key in obj_a else one for key, one in obj_b.items()}}
        raise NotImplementedError("the merging strategy %r: %s" % (strategy, cure()))

    def set_dict_key_value(in_dict, keys, value, delimiter=":", ordered_dict=False):
        *way, last = keys.split(delimiter)
        at = in_dict
        for key in way:
            at = at.setdefault(key, {})
        at[last] = value
        return in_dict

    return {name: value for name, value in vars().items() if inspect.isfunction(value)}


@stands_in_for("salt.utils.odict")
def utils_odict():
    import collections

    class DefaultOrderedDict(collections.OrderedDict):
        def __init__(self, default_factory=None, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.default_factory = default_factory

        def __missing__(self, key):
            if self.default_factory is None:
                raise KeyError(key)
            self[key] = made = self.default_factory()
            return made

    class OrderedDict(collections.OrderedDict):
        pass

    return {"OrderedDict": OrderedDict, "DefaultOrderedDict": DefaultOrderedDict}


@stands_in_for("salt.utils.dictdiffer")
def utils_dictdiffer():
    def deep_diff(old, new, ignore=None):
        left, right = {}, {}
        for key in {**old, **new}:
            if key in (ignore or ()) or key in old and key in new and old[key] == new[key]:
                continue
            one, other = old.get(key), new.get(key)
            if isinstance(one, dict) and isinstance(other, dict):
                inner = deep_diff(one, other, ignore)
                one, other = inner.get("old"), inner.get("new")
                if one is None and other is None:
                    continue
            if one is not None:
                left[key] = one
            if other is not None:
                right[key] = other
        return {name: value for name, value in (("old", left), ("new", right)) if value}

    class DictDiffer:
        def __init__(self, current_dict, past_dict):
            self.current_dict, self.past_dict = current_dict, past_dict

        def added(self):
            return {*self.current_dict} - {*self.past_dict}

        def removed(self):
            return {*self.past_dict} - {*self.current_dict}

        def same_or_other(self, same):
            both = {*self.current_dict} & {*self.past_dict}
            return {key for key in both if (self.current_dict[key] == self.past_dict[key]) is same}

        def changed(self):
            return self.same_or_other(False)

        def unchanged(self):
            return self.same_or_other(True)

    def diff(current_dict, past_dict):
        return DictDiffer(current_dict, past_dict)

    return {"deep_diff": deep_diff, "DictDiffer": DictDiffer, "diff": diff}


@stands_in_for("salt.utils.versions")
def utils_versions():
    import re
    import warnings

    def parts(version):
        return [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", str(version).lower())]

    class LooseVersion:
        def __init__(self, vstring=None):
            self.vstring, self.version = vstring, parts(vstring)

        def __str__(self):
            return str(self.vstring)

        def order(self, other):
            other = other if isinstance(other, LooseVersion) else LooseVersion(other)
            rank = [[(isinstance(part, int), part) for part in one.version] for one in (self, other)]
            return (rank[0] > rank[1]) - (rank[0] < rank[1])

        def __eq__(self, other):
            return self.order(other) == 0

        def __lt__(self, other):
            return self.order(other) < 0

        def __le__(self, other):
            return self.order(other) <= 0

        def __gt__(self, other):
            return self.order(other) > 0

        def __ge__(self, other):
            return self.order(other) >= 0

        __hash__ = object.__hash__

    def version_cmp(pkg1, pkg2, ignore_epoch=False):
        def without_epoch(version):
            return str(version).partition(":")[2] or str(version) if ignore_epoch else str(version)

        return LooseVersion(without_epoch(pkg1)).order(LooseVersion(without_epoch(pkg2)))

    def compare(ver1="", oper="==", ver2="", cmp_func=None, ignore_epoch=False):
        order = (cmp_func or version_cmp)(ver1, ver2, ignore_epoch=ignore_epoch)
        wanted = {"==": (0,), "=": (0,), "!=": (-1, 1), "<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (0, 1)}
        return order in wanted.get(oper, ())

    def warn_until(version, message, category=DeprecationWarning, stacklevel=None, **_kwargs):
        warnings.warn(str(message).format(version=version), category, stacklevel=stacklevel or 2)

    return {
        "LooseVersion": LooseVersion, "StrictVersion": LooseVersion, "Version": LooseVersion,
        "version_cmp": version_cmp, "compare": compare, "warn_until": warn_until,
    }


@stands_in_for("salt.utils.decorators", "salt.utils.decorators.path")
def utils_decorators():
    import functools

    def memoize(func):
        known = {}

        @functools.wraps(func)
        def inner(*args, **kwargs):
            key = repr((args, sorted(kwargs.items())))
            if key not in known:
                known[key] = func(*args, **kwargs)
            return known[key]

        return inner

    def depends(*dependencies, **kwargs):
        """A function that needs modules or programs which are not there says so
        when it is called."""

        def decorate(function):
            names = sys.modules[function.__module__].__dict__ if function.__module__ in sys.modules else {}
            missing = [one for one in dependencies if one is False or isinstance(one, str) and one not in names]
            if not missing:
                return function
            if kwargs.get("fallback_function") is not None:
                return kwargs["fallback_function"]

            @functools.wraps(function)
            def inner(*_args, **_kwargs):
                from salt.exceptions import CommandExecutionError

                raise CommandExecutionError("%s needs %s" % (function.__name__, ", ".join(map(str, missing))))

            return inner

        return decorate

    def which(exe):
        def decorate(function):
            @functools.wraps(function)
            def inner(*args, **kwargs):
                if program(exe) is None:
                    from salt.exceptions import CommandNotFoundError

                    raise CommandNotFoundError("The '%s' binary was not found in $PATH." % exe)
                return function(*args, **kwargs)

            return inner

        return decorate

    return {"memoize": memoize, "depends": depends, "which": which}


@stands_in_for("salt.utils.functools")
def utils_functools():
    def namespaced_function(function, global_dict, *_args):
        return types.FunctionType(function.__code__, global_dict, function.__name__, function.__defaults__, function.__closure__)

    def alias_function(fun, name, doc=None):
        alias = types.FunctionType(fun.__code__, fun.__globals__, name, fun.__defaults__, fun.__closure__)
        alias.__doc__ = doc or "This function is an alias of ``%s``." % fun.__name__
        return alias

    return {"namespaced_function": namespaced_function, "alias_function": alias_function}


@stands_in_for("salt.ext.six")
def ext_six():
    """The package `six` where there is one, else what Python 3 makes of it."""
    try:
        import six

        return {name: getattr(six, name) for name in dir(six) if not name.startswith("__")}
    except ImportError:
        pass
    import urllib

    moves = types.SimpleNamespace(range=range, zip=zip, map=map, filter=filter, input=input, urllib=urllib)
    return {
        "PY2": False, "PY3": True, "string_types": (str,), "text_type": str, "binary_type": bytes,
        "integer_types": (int,), "class_types": (type,), "moves": moves,
        "iteritems": lambda known, **_kwargs: iter(known.items()),
        "itervalues": lambda known, **_kwargs: iter(known.values()),
        "iterkeys": lambda known, **_kwargs: iter(known),
    }


@stands_in_for("salt.ext.six.moves")
def ext_six_moves():
    import urllib.error
    import urllib.parse
    import urllib.request

    return {"range": range, "zip": zip, "map": map, "filter": filter, "input": input, "urllib": urllib}


