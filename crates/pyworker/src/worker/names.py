# --- what code sees ---------------------------------------------------------

OPTS, GRAINS, PILLAR, CONTEXT = {}, {}, {}, {}
DATA = {"opts": OPTS, "grains": GRAINS, "pillar": PILLAR}
# What the host has sent of them.
SENT = {}
DIRS = {}
JOB = None


def fill():
    """Options, grains and pillar as the host has sent them."""
    for name, value in SENT.items():
        target = DATA[name]
        target.clear()
        target.update(value)
    OPTS["grains"], OPTS["pillar"] = GRAINS, PILLAR
    if OPTS.pop("__without_pillar", False):
        del OPTS["pillar"]


def begin(job):
    """A job finds nothing of what another one has left behind."""
    global JOB
    if job is not None and job != JOB:
        JOB = job
        CONTEXT.clear()
        fill()


def host_function(name):
    def function(*args, **kwargs):
        return ask({"salt": name, "args": encode(args), "kwargs": encode(kwargs)})

    function.__name__ = name.rpartition(".")[2]
    return function


class Found(dict):
    """What is found when it is asked for: it is there if it can be found."""

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


class Functions(Found):
    """`__salt__`: functions of the host, and those of other modules here."""

    def __missing__(self, name):
        own = find("modules", name)
        if own is not None:
            return own
        if not ask({"has": name}):
            raise KeyError(name)
        self[name] = function = host_function(name)
        return function

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


class Utilities(Found):
    """`__utils__`: the functions of synced `_utils`, then those of Salt's own
    `salt.utils`, or of what stands in for it."""

    def __missing__(self, name):
        found = find("utils", name) or self.of_salt(name)
        if found is None:
            raise KeyError(name)
        return found

    @staticmethod
    def of_salt(name):
        module, _, function = str(name).partition(".")
        if not module.isidentifier() or not function or function.startswith("_"):
            return None
        try:
            found = getattr(importlib.import_module("salt.utils." + module), function, None)
        except ImportError:
            return None
        return found if callable(found) else None


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


class Serializers(Found):
    """`__serializers__`: those of users, then the host's."""

    def __missing__(self, name):
        own = find("serializers", name)
        if own is not None:
            return own
        module, _, function = str(name).partition(".")
        if function not in ("serialize", "deserialize"):
            raise KeyError(name)
        return lambda data, **options: SALT["slsutil." + function](module, data, **options)


class Renderers(dict):
    """`renderers` of a renderer: those of users, then the host's."""

    def __missing__(self, name):
        own = find("renderers", "%s.render" % name)
        if own is not None:
            return own

        def render(data, saltenv="base", sls="", argline="", **kwargs):
            text = data.read() if hasattr(data, "read") else data
            renderer = "%s %s" % (name, argline) if argline else name
            return SALT["slsutil.renderer"](string=text, default_renderer=renderer, saltenv=saltenv)

        return render

    def __contains__(self, name):
        return True


class JobEvents:
    """`__jid_event__`: events about the runner that runs."""

    @staticmethod
    def fire_event(data, tag):
        if not isinstance(data, dict):
            raise ValueError("the data of an event is a map, not a %s" % type(data).__name__)
        return ask({"event": str(tag), "kwargs": encode(data)})


SALT, UTILS, STATES, RUNNERS = Functions(), Utilities(), States(), Runners()
SERIALIZERS, RENDERERS, JOB_EVENTS = Serializers(), Renderers(), JobEvents()
