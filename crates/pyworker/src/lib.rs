//! Python code of users - modules of every kind, `#!py` - in a `python3` process
//! of its own, whose program lies in `worker/`.
//!
//! The process is started when it is first needed, serves one call after the
//! other, and is started again after it died. It ends with its parent.
//!
//! # The protocol
//!
//! Frames over the process's standard input and output: four bytes of length,
//! the most significant first, then JSON. Values are JSON; what JSON has not
//! is a map of one entry: `{"__b": base64}` for bytes, `{"__i": digits}` for
//! large integers, `{"__f": "nan"}` for floats, `{"__d": text}` for dates, and
//! `{"__m": [[key, value], ...]}` for maps with keys that are no text or start
//! with `__`.
//!
//! The process first says `{"ready": version}`. Then the host sends requests:
//!
//! | request | answer |
//! | --- | --- |
//! | `{"do": "dirs", "dirs": {kind: [directory, ..]}}` | nothing: where `modules`, `states`, `grains`, `utils`, `renderers` ... are |
//! | `{"do": "data", "data": {"opts": .., "grains": .., "pillar": ..}}` | nothing; what is left out stays |
//! | `{"do": "call", "kind", "name", "args", "kwargs", "scope", "salt", "job"}` | what the function returns; the scope are names of its module (`__low__`); with `salt` it is one of the installed Salt; `__context__` begins anew with another job |
//! | `{"do": "render", "name", "data", "saltenv", "sls", "kwargs", "salt"}` | what a renderer makes of the data; a text comes as something to be read |
//! | `{"do": "execute", "name", "fun", "data", "args", "kwargs", "salt", "job"}` | what an executor makes of the call of a function |
//! | `{"do": "find", "kind", "name"}` | what is known of a function of the installed Salt, and whether there is one |
//! | `{"do": "catalog", "kind", "module", "docs", "seconds"}` | the functions of the installed Salt, all or those of a module, and whether there is one |
//! | `{"do": "code", "source", "path", "names"}` | what `run()` of the code returns |
//! | `{"do": "objects", "source", "path", "names"}` | the data that the code declares with the objects of `pyobjects` |
//! | `{"do": "grains"}` | the grains of all functions |
//! | `{"do": "list", "kind"}` | modules with their functions, or why they have none |
//! | `{"do": "forget"}` | nothing: files are read again |
//!
//! The answer is `{"value": ..}` or `{"error": {"class", "bases", "message",
//! "trace"}}`. Before it the process may ask: `{"salt": fun, "args",
//! "kwargs"}`, `{"state": fun, ..}`, `{"has": fun}`, `{"has_own": fun}` (one that
//! needs no installed Salt), `{"has_state": fun}`, `{"event": tag, "kwargs"}`;
//! the host answers each with a value or an error. It may tell, and gets no
//! answer: `{"log": level, "name", "text"}`, `{"retcode": number}`.
//!
//! What code prints goes to the program's standard error. In a process for code that is not
//! meant to end it is logged instead, and such a process kills its group when the program is
//! gone.
//!
//! Invariant: whatever the code does - print, exit, loop, eat memory - the
//! host gets an answer or an error, or ends the process.

mod directories;
mod error;
mod executable;
mod frames;
#[doc(hidden)]
pub mod fuzzing;
mod group;
pub mod limits;
mod pool;
mod process;
mod values;

pub use directories::{directories, has_file, may_have, synced};
pub use error::{PyError, Raised};
pub use executable::python;
pub use pool::{Request, Workers, run_alone, run_endless};
pub use process::{PROGRAM, command};

use std::path::PathBuf;

use halite_proto::{Map, Value};

/// What Python code asks of the program that runs it.
pub trait PyHost {
    /// The options, grains and pillar (`opts`, `grains`, `pillar`) that code
    /// sees. Asked for before each call; what did not change is not sent.
    fn data(&self, name: &str) -> Value;

    /// Where the files of a kind (`modules`, `states`, `grains`, `utils`) are;
    /// the first directory that has a name counts.
    fn directories(&self, kind: &str) -> Vec<PathBuf>;

    /// Whether there is an execution function of that name.
    fn has_function(&self, fun: &str) -> bool;

    /// Whether there is an execution function of that name without an
    /// installed Salt.
    fn has_own_function(&self, fun: &str) -> bool {
        self.has_function(fun)
    }

    /// Calls an execution function.
    ///
    /// # Errors
    /// What it fails with.
    fn call(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised>;

    /// Whether there is a state function of that name.
    fn has_state(&self, _fun: &str) -> bool {
        false
    }

    /// Calls a state function.
    ///
    /// # Errors
    /// What it fails with.
    fn call_state(&self, fun: &str, _args: Vec<Value>, _kwargs: Map) -> Result<Value, Raised> {
        Err(Raised::new("KeyError", format!("'{fun}'")))
    }

    /// Fires an event about the job (`__jid_event__`).
    ///
    /// # Errors
    /// Where jobs have none.
    fn event(&self, _tag: &str, _data: Map) -> Result<(), Raised> {
        Err(Raised::new(
            "NotImplementedError",
            "only runners have events",
        ))
    }

    /// Told what the code has set as return code (`__context__["retcode"]`).
    fn retcode(&self, _retcode: i64) {}

    /// Called for each message of the code before it is handled, be it a question or
    /// something that it logs. May wait: the code goes on no faster.
    fn pace(&self) {}

    /// Whether something of so many bytes that the code logs goes to the log.
    fn may_log(&self, _bytes: usize) -> bool {
        true
    }

    /// Told the process's group before a call; what is returned is dropped
    /// after it. A way to end code from outside.
    fn watch(&self, _group: i32) -> Box<dyn std::any::Any> {
        Box::new(())
    }
}
