# --- what stands in for salt.modules.cmdmod ---------------------------------

# What `cmd.run` of the host sets to `C`.
LOCALE = (
    "LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS LC_TELEPHONE "
    "LC_MEASUREMENT LC_IDENTIFICATION LANGUAGE"
).split()
# What commands of other users get of the environment of this process.
FOR_ALL_USERS = re.compile(r"(PATH|LANG|LANGUAGE|TZ|LC_.*|(?i:(https?|ftp|all|no)_proxy))\Z")
# Seconds that a login shell has to say what environment it sets.
LOGIN_ENV_SECONDS_MAX = 10
# The options of a command that runs here; the last seven change nothing about
# it, since nothing is logged, no template is rendered, and this is not Windows.
SUPPORTED_HERE = set(
    "cwd stdin runas group shell python_shell env clean_env prepend_path rstrip umask output_encoding timeout "
    "reset_system_locale success_retcodes success_stdout success_stderr hide_output raise_err redirect_stderr "
    "ignore_retcode output_loglevel log_callback saltenv pillarenv pillar_override password".split()
)


@stands_in_for("salt.modules.cmdmod")
def salt_cmdmod():
    """The commands that grains run: what else there is, is the host's `cmd`."""
    success = "success_retcodes success_stdout success_stderr"
    first = "cwd stdin runas group shell python_shell env clean_env template"
    output = "umask output_encoding output_loglevel log_callback"
    ends = "timeout reset_system_locale ignore_retcode saltenv use_vt"
    stream = "%s rstrip %s hide_output %s" % (first, output, ends)
    quiet = (
        "runas shell python_shell env template umask timeout reset_system_locale saltenv pillarenv pillar_override"
    )

    def stdout(ran, options):
        if ran["retcode"] != 0 and options.get("raise_err") and not options.get("ignore_retcode"):
            from salt.exceptions import CommandExecutionError

            raise CommandExecutionError(ran["stdout"])
        return ran["stdout"]

    def everything(ran, _options):
        return ran

    def retcode(ran, _options):
        return ran["retcode"]

    # The parameters stand in Salt's order.
    return {
        "_run_quiet": command_function(
            "run", "cwd stdin output_encoding %s %s ignore_retcode" % (quiet, success), True, stdout, True
        ),
        "_run_all_quiet": command_function(
            "run_all", "cwd stdin %s output_encoding %s ignore_retcode" % (quiet, success), False, everything, True
        ),
        "run": command_function(
            "run", "%s redirect_stderr bg password encoded_cmd raise_err prepend_path %s" % (stream, success), True, stdout
        ),
        "run_all": command_function(
            "run_all", "%s redirect_stderr password encoded_cmd prepend_path %s" % (stream, success), False, everything
        ),
        "run_stdout": command_function("run_stdout", "%s password prepend_path %s" % (stream, success), False, stdout),
        "retcode": command_function("retcode", "%s %s %s password %s" % (first, output, ends, success), True, retcode),
    }


def command_function(name, names, merged, result, quiet=False):
    """A function that runs a command by the host's function of that name, or
    here where the host cannot be asked."""
    of_cmd = inspect.Parameter("cmd", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [of_cmd] + [of_cmd.replace(name=name, default=None) for name in names.split()]
    if not quiet:
        parameters.append(inspect.Parameter("more", inspect.Parameter.VAR_KEYWORD))
    takes = inspect.Signature(parameters)

    def function(*args, **kwargs):
        options = dict(takes.bind(*args, **kwargs).arguments)
        options.update(options.pop("more", {}))
        cmd = options.pop("cmd")
        if quiet:
            options = {"python_shell": False, **options, "output_loglevel": "quiet", "ignore_retcode": True}
        by_host = command_by_host(name)
        if by_host is None:
            return result(run_here(cmd, options, options.get("redirect_stderr", merged)), options)
        pillar = [name for name in ("pillarenv", "pillar_override") if options.pop(name, None)]
        if pillar and options.get("template"):
            refuse_options(pillar)
        return by_host(cmd, **options)

    function.__signature__ = takes
    return function


def command_by_host(name):
    """The host's function, unless it cannot be called now, or a module of users
    hides it: what that module calls by the name of Salt's file is not itself."""
    found = None if READING or FORKED else SALT.get("cmd." + name)
    return None if str(getattr(found, "__module__", "")).startswith(PACKAGE + ".") else found


def refuse_options(names):
    from salt.exceptions import SaltInvocationError

    raise SaltInvocationError("salt.modules.cmdmod does not support %s here" % ", ".join(sorted(names)))


def run_here(cmd, options, merged):
    """What `cmd.run_all` returns, for a command that this process starts."""
    import subprocess

    from salt.exceptions import CommandExecutionError

    unsupported = [name for name in options if name not in SUPPORTED_HERE and not name.startswith("__") and options[name]]
    if unsupported:
        refuse_options(unsupported)
    user, shell = command_user(options), options.get("shell") or os.environ.get("SHELL") or "/bin/sh"
    retcodes, timeout, stdin = command_successes(options), options.get("timeout") or None, options.get("stdin")
    if timeout is not None and not isinstance(timeout, (int, float)):
        raise CommandExecutionError("Error: timeout %s must be a number" % (timeout,))
    words = command_words(cmd, options, shell)
    try:
        process = subprocess.Popen(
            words, cwd=command_directory(options.get("cwd"), user), env=command_environment(options, user, shell),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE, **command_rights(options, user)
        )
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        raise CommandExecutionError("Unable to run command '%s', reason: %s" % (words, exc)) from None
    with process:
        try:
            stdin = None if stdin is None else str(stdin).replace("\\n", "\n").encode("utf-8", "surrogateescape")
            written = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            text = "%s : Timed out after %s seconds" % (words, timeout)
            return {"pid": process.pid, "retcode": 1, "stdout": text, "stderr": ""}
    texts = [(text or b"").decode(str(options.get("output_encoding") or "utf-8"), "replace") for text in written]
    if options.get("rstrip", True):
        texts = [text.rstrip() for text in texts]
    succeeds = process.returncode in retcodes or any(
        text in of for of, name in zip(texts, ("stdout", "stderr")) for text in listed(options.get("success_" + name))
    )
    if options.get("hide_output"):
        texts = ["", ""]
    return {"pid": process.pid, "retcode": 0 if succeeds else process.returncode, "stdout": texts[0], "stderr": texts[1]}


def listed(value):
    """Several values: a list, a text with commas, or one."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def command_successes(options):
    try:
        return [int(code) for code in listed(options.get("success_retcodes"))]
    except (TypeError, ValueError):
        from salt.exceptions import SaltInvocationError

        raise SaltInvocationError("success_retcodes must be a list of integers") from None


def command_words(cmd, options, shell):
    import shlex

    from salt.exceptions import CommandExecutionError

    through_shell = options.get("python_shell")
    if through_shell is None:
        through_shell = OPTS.get("cmd_safe") is False
    if isinstance(cmd, (list, tuple)):
        words = [str(part) for part in cmd]
    else:
        try:
            words = [str(cmd)] if through_shell else shlex.split(str(cmd))
        except ValueError as exc:
            raise CommandExecutionError("Unable to run command '%s', reason: %s" % (cmd, exc)) from None
    if not through_shell:
        return words
    if not os.access(shell, os.X_OK) or not os.path.isfile(shell):
        raise CommandExecutionError("The shell %s is not available" % shell)
    return [shell, "-c"] + words


def command_directory(asked, user):
    from salt.exceptions import CommandExecutionError

    if asked:
        if os.path.isabs(str(asked)) and os.path.isdir(str(asked)):
            return str(asked)
        raise CommandExecutionError("Specified cwd '%s' either not absolute or does not exist" % (asked,))
    home = user.pw_dir if user is not None else os.path.expanduser("~")
    return home if os.path.isdir(home) and os.access(home, os.R_OK) else "/"


def found_by_name(what, name, by_name, by_number):
    """The entry of a user or group, which may be given as a number."""
    from salt.exceptions import CommandExecutionError

    try:
        return by_name(str(name))
    except (KeyError, ValueError):
        pass
    try:
        return by_number(int(str(name)))
    except (KeyError, ValueError, OverflowError):
        raise CommandExecutionError("%s '%s' is not available" % (what, name)) from None


def command_user(options):
    """Who is to run the command; `None` if whoever this process is."""
    import pwd

    runas = options.get("runas")
    if runas in (None, ""):
        return None
    user = found_by_name("User", runas, pwd.getpwnam, pwd.getpwuid)
    return None if user.pw_uid == os.geteuid() else user


def command_rights(options, user):
    """What `Popen` is told of user, groups and mask. It sets them in the child
    after it has forked, where code of ours could wait for a lock for ever."""
    import grp

    from salt.exceptions import CommandExecutionError

    rights, group, umask = {}, options.get("group"), options.get("umask")
    if user is not None:
        groups = os.getgrouplist(user.pw_name, user.pw_gid)
        # A session of its own keeps it from typing into the terminal of root.
        rights.update(user=user.pw_uid, group=user.pw_gid, extra_groups=groups, start_new_session=True)
    if group not in (None, ""):
        rights["group"] = found_by_name("Group", group, grp.getgrnam, grp.getgrgid).gr_gid
    if umask not in (None, ""):
        try:
            rights["umask"] = int(str(umask), 8)
        except ValueError:
            rights["umask"] = 0
        if not 0 < rights["umask"] <= 0o777:
            raise CommandExecutionError("Invalid umask: '%s'" % (umask,))
    if rights and sys.version_info < (3, 9):
        text = "runas, group and umask need Python 3.9 or newer here: set python_executable, %s is older"
        raise CommandExecutionError(text % sys.executable)
    return rights


def command_environment(options, user, shell):
    given, own = options.get("env"), {}
    for part in given if isinstance(given, (list, tuple)) else [given]:
        for name, value in part.items() if isinstance(part, dict) else ():
            name, value = str(name), "" if value is None else str(value)
            if not name or "=" in name or "\0" in name + value:
                logging.getLogger("salt.loaded.int.module.cmdmod").error("Environment variable '%s' cannot be set", name)
                continue
            own[name] = value
    if options.get("reset_system_locale", True):
        own = {**dict.fromkeys(LOCALE, "C"), **own}
    known = {} if options.get("clean_env") else dict(os.environ)
    known.pop("NOTIFY_SOCKET", None)
    if user is not None:
        # What else the program's environment holds may be secret.
        known = {name: value for name, value in known.items() if FOR_ALL_USERS.match(name)}
        known.update(login_environment(user, shell))
    known.update(own)
    if options.get("prepend_path"):
        known["PATH"] = ":".join([str(options["prepend_path"])] + [known[name] for name in ("PATH",) if name in known])
    return known


def login_environment(user, shell):
    """What a login of the user sets, profile files included; where that cannot
    be found out, what every login sets."""
    import subprocess

    known, mark = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}, "--halite-login-env--"
    if os.geteuid() != 0:
        return known
    # Profile files may write what they like around it.
    script = "printf %%s %s; env -0; printf %%s %s" % (mark, mark)
    try:
        done = subprocess.run(
            ["su", "-s", shell, "-", user.pw_name, "-c", script], cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LOGIN_ENV_SECONDS_MAX, start_new_session=True,
        )
        between = done.stdout.decode("utf-8", "surrogateescape").split(mark)[1]
    except (OSError, IndexError, subprocess.TimeoutExpired) as exc:
        logging.getLogger("salt.loaded.int.module.cmdmod").debug("no login environment of %s: %s", user.pw_name, exc)
        return known
    for entry in between.split("\0"):
        name, equals, value = entry.partition("=")
        if equals and name not in ("_", "SHLVL", "PWD", "OLDPWD"):
            known[name] = value
    return known


