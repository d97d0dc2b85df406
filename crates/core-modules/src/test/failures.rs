//! Functions that fail on purpose.

use halite_proto::Value;

use super::tuple_repr;
use halite_call::{Call, CallError, CallResult, python};

pub(super) fn assertion(call: &Call<'_>) -> CallResult {
    if call.flag("assertion") {
        Ok(Value::Nil)
    } else {
        Err(bare_exception("AssertionError"))
    }
}

pub(super) fn exception(call: &Call<'_>) -> CallResult {
    Err(CallError::exception("Exception", call.text("message")))
}

/// An exception without a text: only its name is written.
fn bare_exception(kind: &'static str) -> CallError {
    CallError::Exception {
        kind,
        message: String::new(),
        trace: None,
    }
}

/// Python's exceptions that [`raise_exception`] can raise.
const KNOWN: &[&str] = &[
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BlockingIOError",
    "BrokenPipeError",
    "BufferError",
    "ChildProcessError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "EOFError",
    "Exception",
    "FileExistsError",
    "FileNotFoundError",
    "FloatingPointError",
    "ImportError",
    "IndexError",
    "InterruptedError",
    "IsADirectoryError",
    "KeyError",
    "LookupError",
    "MemoryError",
    "ModuleNotFoundError",
    "NameError",
    "NotADirectoryError",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "PermissionError",
    "ProcessLookupError",
    "RecursionError",
    "ReferenceError",
    "RuntimeError",
    "StopIteration",
    "SyntaxError",
    "SystemError",
    "TimeoutError",
    "TypeError",
    "UnboundLocalError",
    "UnicodeError",
    "ValueError",
    "ZeroDivisionError",
];

pub(super) fn raise_exception(call: &Call<'_>) -> CallResult {
    let name = call.text("name");
    let Some(mut kind) = KNOWN.iter().find(|known| **known == name).copied() else {
        tracing::error!("There is no exception called {name}");
        return Ok(Value::Bool(false));
    };
    let message = match (call.varargs(), kind) {
        ([], _) => String::new(),
        ([key], "KeyError") => python::repr(key),
        ([one], _) => python::str(one),
        ([number, text, rest @ ..], "OSError") => {
            let known = number
                .as_i64()
                .and_then(|number| i32::try_from(number).ok());
            kind = known.map_or(kind, halite_proto::python::os_error_class);
            let file = rest.first().map(|file| format!(": {}", python::repr(file)));
            format!(
                "[Errno {}] {}{}",
                python::str(number),
                python::str(text),
                file.unwrap_or_default()
            )
        }
        (several, _) => tuple_repr(several),
    };
    Err(CallError::exception(kind, message))
}
