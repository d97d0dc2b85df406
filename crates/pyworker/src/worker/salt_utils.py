# --- what stands in for salt.utils ------------------------------------------


@stands_in_for("salt.utils")
def utils_itself():
    return {}


@stands_in_for("salt.utils.files")
def utils_files():
    import contextlib
    import shutil
    import tempfile

    def fopen(*args, **kwargs):
        mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
        if "b" not in mode:
            kwargs.setdefault("encoding", "utf-8")
        return open(*args, **kwargs)

    @contextlib.contextmanager
    def flopen(*args, **kwargs):
        import fcntl

        with fopen(*args, **kwargs) as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH)
            yield file

    @contextlib.contextmanager
    def fpopen(*args, uid=-1, gid=-1, mode=None, **kwargs):
        with fopen(*args, **kwargs) as file:
            os.fchown(file.fileno(), uid, gid)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            yield file

    def mkstemp(*args, **kwargs):
        close = kwargs.pop("close_fd", True)
        kwargs.setdefault("prefix", "__salt.tmp.")
        handle, path = tempfile.mkstemp(*args, **kwargs)
        if not close:
            return handle, path
        os.close(handle)
        return path

    def safe_rm(tgt):
        with contextlib.suppress(OSError):
            os.remove(tgt)

    def rm_rf(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)

    def remove(path):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)

    def is_empty(filename):
        try:
            return os.stat(filename).st_size == 0
        except OSError:
            return False

    def is_binary(path):
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return b"\0" in file.read(2048)

    def list_files(directory):
        found = {directory}
        for root, directories, names in os.walk(directory):
            found.update(os.path.join(root, name) for name in directories + names)
        return list(found)

    def normalize_mode(mode):
        if mode is None:
            return None
        return str(mode).strip("\"'").lstrip("0Oo").rjust(4, "0")

    def st_mode_to_octal(mode):
        return oct(mode)[-4:]

    @contextlib.contextmanager
    def set_umask(mask):
        before = os.umask(mask)
        try:
            yield
        finally:
            os.umask(before)

    return {name: value for name, value in vars().items() if inspect.isfunction(value)}


# Where programs are found beside the directories of `PATH`, of which daemons are
# started with few.
MORE_DIRECTORIES = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"]


def program(name):
    """The path of a program, found as the functions of the host find it."""
    import shutil

    listed = [directory for directory in os.environ.get("PATH", "").split(":") if directory]
    return shutil.which(name, path=":".join(dict.fromkeys(listed + MORE_DIRECTORIES)))


@stands_in_for("salt.utils.path")
def utils_path():
    def which(exe=None):
        return program(exe) if exe else None

    def which_bin(exes):
        return next((found for found in map(which, exes) if found), None)

    def join(*parts, **_kwargs):
        """Below the first part: a later one with a leading slash starts nothing anew."""
        first, *rest = [str(part) for part in parts] or [""]
        return os.path.normpath(os.path.join(first, *[part.lstrip("/") for part in rest]))

    def check_or_die(command):
        from salt.exceptions import CommandNotFoundError

        if command is None or not which(command):
            raise CommandNotFoundError("'%s' is not in the path" % (command,))

    def expand(path):
        return os.path.expanduser(os.path.expandvars(path))

    return {
        "which": which, "which_bin": which_bin, "join": join, "check_or_die": check_or_die, "expand": expand,
        "os_walk": lambda top, *args, **kwargs: os.walk(top, *args, **kwargs),
        "islink": os.path.islink, "readlink": os.readlink,
    }


@stands_in_for("salt.utils.platform")
def utils_platform():
    here = {"is_" + sys.platform.rstrip("0123456789")}
    if os.uname().machine == "aarch64":
        here.add("is_aarch64")
    names = "linux windows darwin freebsd openbsd netbsd sunos smartos aix proxy junos aarch64 smartos_globalzone smartos_zone fedora photonos"
    here.update("is_" + name for name in ("fedora", "photonos") if GRAINS.get("os", "").lower().startswith(name))

    def answer(value):
        return lambda: value

    return {"is_" + name: answer("is_" + name in here) for name in names.split()}


@stands_in_for("salt.utils.stringutils")
def utils_stringutils():
    import fnmatch
    import re

    def to_unicode(s, encoding=None, errors="strict", normalize=False):
        if isinstance(s, str):
            return s
        if isinstance(s, (bytes, bytearray)):
            return bytes(s).decode(encoding or "utf-8", errors)
        raise TypeError("expected str, bytes, or bytearray not %s" % type(s))

    def to_bytes(s, encoding=None, errors="strict"):
        if isinstance(s, (bytes, bytearray)):
            return bytes(s)
        if isinstance(s, str):
            return s.encode(encoding or "utf-8", errors)
        raise TypeError("expected str, bytes, or bytearray not %s" % type(s))

    def to_num(text):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    def to_none(text):
        return None if str(text).strip() == "" else text

    def is_quoted(value):
        quoted = isinstance(value, str) and len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        return value[0] if quoted else ""

    def dequote(value):
        return value[1:-1] if is_quoted(value) else value

    def is_hex(value):
        try:
            int(value, 16)
        except (TypeError, ValueError):
            return False
        return True

    def contains_whitespace(text):
        return any(char.isspace() for char in text)

    def expr_match(line, expr):
        if line == expr or fnmatch.fnmatchcase(line, expr):
            return True
        try:
            return re.match(r"\A%s\Z" % expr, line) is not None
        except re.error:
            return False

    def check_whitelist_blacklist(value, whitelist=None, blacklist=None):
        def listed(patterns):
            patterns = [patterns] if isinstance(patterns, str) else patterns
            return any(expr_match(value, pattern) for pattern in patterns)

        if blacklist and listed(blacklist):
            return False
        return not whitelist or listed(whitelist)

    def camel_to_snake_case(camel_input):
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", camel_input).lower()

    made = {name: value for name, value in vars().items() if inspect.isfunction(value)}
    return {**made, "to_str": to_unicode}


@stands_in_for("salt.utils.args")
def utils_args():
    import shlex

    def clean_kwargs(**kwargs):
        return {key: value for key, value in kwargs.items() if not key.startswith("__")}

    def invalid_kwargs(invalid_kwargs, raise_exc=True):
        from salt.exceptions import SaltInvocationError

        text = "The following keyword arguments are not valid: %s" % ", ".join(
            "%s=%s" % item for item in invalid_kwargs.items()
        )
        if raise_exc:
            raise SaltInvocationError(text)
        return text

    def split_input(val, mapper=None):
        items = val if isinstance(val, (list, tuple)) else str(val).split(",")
        return [(mapper or str.strip)(item) for item in items]

    def shlex_split(s, **kwargs):
        return shlex.split(s, **kwargs) if isinstance(s, str) else s

    def test_mode(**kwargs):
        from salt.utils.data import is_true

        return any(key.lower() == "test" and is_true(value) for key, value in kwargs.items()) or bool(OPTS.get("test"))

    def get_function_argspec(func, is_class_method=None):
        return inspect.getfullargspec(func)

    return {name: value for name, value in vars().items() if inspect.isfunction(value)}


@stands_in_for("salt.utils.json")
def utils_json():
    def dumps(obj, **kwargs):
        kwargs.pop("_json_module", None)
        kwargs.setdefault("ensure_ascii", False)
        return json.dumps(obj, **kwargs)

    def dump(obj, fp, **kwargs):
        fp.write(dumps(obj, **kwargs))

    def loads(s, **kwargs):
        kwargs.pop("_json_module", None)
        return json.loads(s, **kwargs)

    def load(fp, **kwargs):
        return loads(fp.read(), **kwargs)

    return {"load": load, "loads": loads, "dump": dump, "dumps": dumps}


@stands_in_for("salt.utils.yaml")
def utils_yaml():
    """PyYAML where there is one, else the host's YAML."""
    try:
        import yaml
    except ImportError:

        def read(stream, *_args, **_kwargs):
            text = stream.read() if hasattr(stream, "read") else stream
            return SERIALIZERS["yaml.deserialize"](text)

        def write(data, stream=None, **options):
            text = SERIALIZERS["yaml.serialize"](data, **options)
            return text if stream is None else stream.write(text) and None

        return {"safe_load": read, "load": read, "safe_dump": write, "dump": write, "YAMLError": ValueError}

    def safe_dump(data, stream=None, **kwargs):
        kwargs.setdefault("allow_unicode", True)
        kwargs.setdefault("default_flow_style", None)
        return yaml.safe_dump(data, stream, **kwargs)

    def load(stream, Loader=yaml.SafeLoader):
        return yaml.load(stream, Loader=Loader)

    return {
        "safe_load": load, "load": load, "safe_dump": safe_dump, "dump": safe_dump,
        "YAMLError": yaml.YAMLError, "SaltYamlSafeLoader": yaml.SafeLoader,
    }


@stands_in_for("salt.utils.http")
def utils_http():
    return {"query": lambda url, *args, **kwargs: SALT["http.query"](url, *args, **kwargs)}


@stands_in_for("salt.utils.user")
def utils_user():
    import getpass
    import grp
    import pwd

    def get_user():
        return getpass.getuser()

    def get_uid(user=None):
        try:
            return os.geteuid() if user is None else pwd.getpwnam(user).pw_uid
        except KeyError:
            return None

    def get_gid(group=None):
        try:
            return os.getegid() if group is None else grp.getgrnam(group).gr_gid
        except KeyError:
            return None

    def get_group_list(user, include_default=True):
        known = pwd.getpwnam(user)
        gids = set(os.getgrouplist(user, known.pw_gid))
        if not include_default:
            gids.discard(known.pw_gid)
        return sorted(grp.getgrgid(gid).gr_name for gid in gids)

    return {name: value for name, value in vars().items() if inspect.isfunction(value)}


@stands_in_for("salt.utils.hashutils")
def utils_hashutils():
    import hashlib

    def data_of(instr):
        return instr.encode() if isinstance(instr, str) else instr

    def digest(kind):
        return lambda instr: hashlib.new(kind, data_of(instr)).hexdigest()

    def get_hash(path, form="sha256", chunk_size=65536):
        sum_of = hashlib.new(form)
        with open(path, "rb") as file:
            while chunk := file.read(chunk_size):
                sum_of.update(chunk)
        return sum_of.hexdigest()

    return {
        "get_hash": get_hash,
        **{"%s_digest" % kind: digest(kind) for kind in ("md5", "sha1", "sha256", "sha512")},
        "base64_b64encode": lambda instr: base64.b64encode(data_of(instr)).decode(),
        "base64_b64decode": lambda instr: base64.b64decode(data_of(instr)).decode(),
    }


@stands_in_for("salt.utils.systemd")
def utils_systemd():
    return {"booted": lambda context=None: os.path.isdir("/run/systemd/system")}


@stands_in_for("salt.utils.compat")
def utils_compat():
    return {"pack_dunder": lambda name: None, "cmp": lambda x, y: (x > y) - (x < y)}


