"""The worker: runs Python code of users for a Halite program.

It speaks frames over its first standard input and output: four bytes of
length, the most significant first, then JSON. What code prints goes to
standard error instead, or to the log. It is started by the crate `halite-pyworker`, whose
documentation describes the messages; the parts of this text are its files, one
after the other.
"""
import _thread
import base64
import builtins
import codecs
import contextlib
import datetime
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import json
import logging
import os
import re
import select
import signal
import struct
import sys
import threading
import time
import traceback
import types

FROM_HOST = os.fdopen(os.dup(0), "rb")
TO_HOST = os.fdopen(os.dup(1), "wb")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
# Whether this is a process for code that is not meant to end.
ENDLESS = "endless" in sys.argv[3:]


def limit_memory(limit):
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        pass


def outlive_host_never():
    """Ends this process when its host is gone, also within code without an end:
    `receive` would never be reached. The second is for an orderly end. What code
    that is not meant to end has started ends with it."""
    host = select.poll()
    host.register(FROM_HOST.fileno(), 0)
    while not host.poll():
        pass
    time.sleep(1)
    if ENDLESS:
        os.killpg(0, signal.SIGKILL)
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
    if value is None or value is True or value is False:
        return value
    if type(value) is str:
        if value.isascii():
            return value
        try:
            value.encode()
            return value
        except UnicodeEncodeError:
            # What names of files are that are no UTF-8.
            return {"__b": base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()}
    if isinstance(value, int):
        value = int(value)
        return value if -(2**63) <= value < 2**63 else {"__i": str(value)}
    if isinstance(value, float):
        return value if value - value == 0 else {"__f": repr(float(value))}
    if isinstance(value, str):
        return encode(str(value), depth)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return {"__d": value.strftime("%Y%m%dT%H:%M:%S.%f")}
    if isinstance(value, (bytes, bytearray)):
        return {"__b": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, dict):
        keys = list(value.keys())
        if all(isinstance(key, str) and key.isascii() and not key.startswith("__") for key in keys):
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
            if tag == "__d":
                return datetime.datetime.strptime(inner, "%Y%m%dT%H:%M:%S.%f")
            if tag == "__m":
                return {hashable(decode(key)): decode(item) for key, item in inner}
        return {key: decode(item) for key, item in value.items()}
    return value


def hashable(key):
    return tuple(key) if isinstance(key, list) else key


# One frame at a time, and one question: threads of users may log and ask.
WRITING, ASKING = threading.Lock(), threading.RLock()
# Whether a request is being worked on: only then is there somebody to ask.
WORKING = False


def send(message):
    if FORKED:
        # What a forked process returns from has been answered by its parent.
        os._exit(0)
    frame = json.dumps(message).encode("utf-8", "surrogatepass")
    with WRITING:
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
    with ASKING:
        if not WORKING:
            raise RuntimeError("the call that this thread belongs to has ended")
        send(message)
        reply = receive()
    if "error" in reply:
        raise_error(reply["error"])
    return decode(reply.get("value"))


# --- logs -------------------------------------------------------------------


class ToHost(logging.Handler):
    """What code logs is the host's to log."""

    LONGEST = 65536

    def emit(self, record):
        try:
            text = self.format(record)[: self.LONGEST]
            if FORKED:
                print(text, file=sys.stderr)
            else:
                send({"log": record.levelno, "name": record.name, "text": encode_text(text)})
        except Exception:
            self.handleError(record)


def encode_text(text):
    return text.encode("utf-8", "replace").decode()


def log_to_host(level):
    """From this level on; the rest is not worth a message."""
    for number, name in ((5, "TRACE"), (1, "GARBAGE")):
        if not hasattr(logging.Logger, name.lower()):
            logging.addLevelName(number, name)

            def log(self, message, *args, _number=number, **kwargs):
                if self.isEnabledFor(_number):
                    self._log(_number, message, args, **kwargs)

            setattr(logging.Logger, name.lower(), log)
    handler = ToHost(level)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.root.addHandler(handler)
    logging.root.setLevel(level)


class Printed(io.TextIOBase):
    """A standard stream whose lines are logged: the log has limits."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, number, level):
        super().__init__()
        self.number, self.level, self.rest, self.own = number, level, "", threading.local()
        self.buffer = PrintedBytes(self)

    def fileno(self):
        return self.number

    def writable(self):
        return True

    def write(self, text):
        # `logging` itself prints that it has failed: that is not logged in turn.
        if FORKED or getattr(self.own, "writes", False):
            return len(text)
        self.own.writes = True
        try:
            *lines, rest = (self.rest + text).split("\n")
            if len(rest) > ToHost.LONGEST:
                lines, rest = lines + [rest], ""
            self.rest = rest
            for line in filter(None, lines):
                logging.getLogger("printed").log(self.level, "%s", line)
        finally:
            self.own.writes = False
        return len(text)


class PrintedBytes(io.BufferedIOBase):
    """What takes the bytes of a standard stream whose lines are logged."""

    def __init__(self, text):
        super().__init__()
        self.text, self.decoder = text, codecs.getincrementaldecoder("utf-8")("replace")

    def fileno(self):
        return self.text.fileno()

    def writable(self):
        return True

    def write(self, data):
        self.text.write(self.decoder.decode(bytes(data)))
        return len(data)
