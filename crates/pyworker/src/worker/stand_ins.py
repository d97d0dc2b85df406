# --- where Salt is not installed --------------------------------------------

# What stands in for the modules of Salt that users' code imports most: their
# names, and what makes their members when they are first imported.
STAND_INS = {}


def stands_in_for(*names):
    """Marks what makes the members of these modules."""

    def mark(make):
        STAND_INS.update(dict.fromkeys(names, make))
        return make

    return mark


def cure():
    return (
        "Salt is not installed for %s, and Halite stands in for the most used parts of it only; "
        "install the package salt there, or set python_executable to a Python that has it" % sys.executable
    )


class StandInFinder:
    """Finds `salt` and the modules below it that there are stand-ins for."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        top, _, below = name.partition(".")
        if top != "salt":
            return None
        parent, _, last = below.partition(".")
        known = name in STAND_INS or any(other.startswith(name + ".") for other in STAND_INS)
        if not known and not (parent in ("modules", "states") and (not last or last in FUNCTIONS_OF)):
            return None
        return importlib.machinery.ModuleSpec(name, StandInFinder, is_package=True)

    @staticmethod
    def create_module(spec):
        kind, _, last = spec.name.partition(".")[2].partition(".")
        if kind in ("modules", "states") and last:
            return HostFunctions(spec.name, kind, FUNCTIONS_OF[last])
        return StandIn(spec.name)

    @staticmethod
    def exec_module(module):
        make = STAND_INS.get(module.__name__)
        for name, member in (make() if make is not None else {}).items():
            if inspect.isfunction(member) or inspect.isclass(member):
                member.__module__ = module.__name__
            setattr(module, name, member)


class StandIn(types.ModuleType):
    """A part of Salt: what it has not, it says."""

    def __getattr__(self, name):
        text = "module %r has no attribute %r" % (self.__name__, name)
        raise AttributeError(text if name.startswith("__") else "%s: %s" % (text, cure()))


class HostFunctions(StandIn):
    """`salt.modules.NAME` and `salt.states.NAME`: the host's functions."""

    def __init__(self, name, kind, module):
        super().__init__(name)
        self.__halite__ = (kind, module)

    def __getattr__(self, name):
        if not name.startswith("_"):
            kind, module = self.__halite__
            functions, fun = STATES if kind == "states" else SALT, "%s.%s" % (module, name)
            if fun in functions:
                return functions[fun]
        return super().__getattr__(name)


# The files of Salt whose functions the host has, by the name that it has them by.
FUNCTIONS_OF = {
    **{
        name: name
        for name in (
            "acme alternatives apache archive at augeas beacons btrfs cmd config container_resource cp cron "
            "data debconf defaults disk dnsutil environ event file gem git gpg grains group hashutil host "
            "hosts http incron ini_manage iptables kernelpkg key keyboard kmod locale locate logrotate lvm "
            "match mine mount mysql network nftables nginx npm openssl pam parted pillar pip pkg pkgrepo "
            "postgres process ps publish quota random redis reg rsync s3 saltutil schedule sdb selinux "
            "service slsutil smtp sqlite3 ssh state status sudo supervisord sysctl sysfs syslog_ng system "
            "temp test timezone tls user vault virtualenv x509 xfs zfs zpool"
        ).split()
    },
    "aptpkg": "pkg",
    "cmdmod": "cmd",
    "debconfmod": "debconf",
    "dpkg_lowpkg": "lowpkg",
    "groupadd": "group",
    "linux_shadow": "shadow",
    "linux_sysctl": "sysctl",
    "localemod": "locale",
    "mod_random": "random",
    "pacmanpkg": "pkg",
    "rpm_lowpkg": "lowpkg",
    "sysmod": "sys",
    "systemd_service": "service",
    "useradd": "user",
    "virtualenv_mod": "virtualenv",
    "yumpkg": "pkg",
    "zypperpkg": "pkg",
}


# Whether files are only read, or asked for grains: no function of the host can
# be called then.
READING = False


@stands_in_for("salt.version", "salt")
def salt_version():
    return {"__version__": str(GRAINS.get("saltversion", "")), "__saltstack_version__": GRAINS.get("saltversion")}


@stands_in_for("salt.config")
def salt_config():
    def minion_config(*_args, **_kwargs):
        """The options of the program that runs the code, whatever the path is."""
        return dict(OPTS)

    return {"minion_config": minion_config, "master_config": minion_config, "client_config": minion_config}


@stands_in_for("salt.defaults")
def salt_defaults():
    return {"DEFAULT_TARGET_DELIM": ":"}


@stands_in_for("salt.defaults.exitcodes")
def salt_exitcodes():
    return {"EX_OK": 0, "EX_GENERIC": 1, "EX_USAGE": 64, "EX_NOUSER": 67, "EX_UNAVAILABLE": 69, "EX_SOFTWARE": 70}


@stands_in_for("salt.exceptions")
def salt_exceptions():
    made = {}

    class SaltException(Exception):
        __qualname__ = "SaltException"

        def __init__(self, message="", *args, **kwargs):
            super().__init__(message)
            self.message = self.strerror = str(message)

    def add(names, *bases):
        for name in names.split():
            made[name] = type(name, bases, {})

    made["SaltException"] = SaltException
    add(
        "AuthenticationError AuthorizationError CommandExecutionError CommandNotFoundError "
        "EauthAuthenticationError FileLockError FileserverConfigError GitRemoteError LoaderError MinionError "
        "NotImplemented PublishError SaltCacheError SaltClientError SaltClientTimeout SaltCloudException "
        "SaltConfigurationError SaltDaemonNotRunning SaltDeserializationError SaltMasterError "
        "SaltMasterUnresolvableError SaltNoMinionsFound SaltRenderError SaltReqTimeoutError SaltRunnerError "
        "SaltSyndicMasterError SaltValidationError SaltWheelError TemplateError TimedProcTimeoutError "
        "TimeoutError TokenAuthenticationError UnsupportedAlgorithm",
        SaltException,
    )
    add("ArgumentValueError CheckError InvalidConfigError InvalidEntityError", made["CommandExecutionError"])
    add("SaltInvocationError", SaltException, TypeError)
    add("InvalidKeyError", SaltException, ValueError)
    cloud = "SaltCloudConfigError SaltCloudExecutionFailure SaltCloudExecutionTimeout SaltCloudNotFound SaltCloudSystemExit"
    add(cloud, made["SaltCloudException"])

    class SaltSystemExit(SystemExit):
        def __init__(self, code=0, msg=None):
            super().__init__(msg or code)

    made["SaltSystemExit"] = SaltSystemExit
    return made


