//! What the code of an engine may ask of its daemon, and how fast.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Instant;

use halite_proto::{Map, Value};
use halite_pyworker::{PyHost, Raised};

use super::engine_pace::{Logged, Pace};
use super::host::CallHost;
use crate::limits::{ENGINE_LOG_BYTES_PER_MINUTE_MAX, ENGINE_MESSAGES_PER_S};

/// What an engine sees: what a function sees, and whose engine it is.
pub(super) struct EngineHost<'c, 'e> {
    pub(super) call: CallHost<'c>,
    pub(super) name: &'e str,
    pub(super) role: &'static str,
    pub(super) pace: &'e RefCell<Pace>,
}

impl PyHost for EngineHost<'_, '_> {
    fn data(&self, name: &str) -> Value {
        let mut data = self.call.data(name);
        if let (Value::Map(opts), "opts") = (&mut data, name) {
            opts.insert("__role", self.role);
        }
        data
    }

    fn directories(&self, kind: &str) -> Vec<PathBuf> {
        self.call.directories(kind)
    }

    fn has_function(&self, fun: &str) -> bool {
        self.call.has_function(fun)
    }

    fn has_own_function(&self, fun: &str) -> bool {
        self.call.has_own_function(fun)
    }

    fn call(&self, fun: &str, args: Vec<Value>, kwargs: Map) -> Result<Value, Raised> {
        self.call.call(fun, args, kwargs)
    }

    fn pace(&self) {
        let Some(slowed) = self.pace.borrow_mut().message(Instant::now()) else {
            return;
        };
        if slowed.is_news {
            tracing::warn!(
                "the engine {} asks and logs more than {ENGINE_MESSAGES_PER_S} times a second \
                 and is slowed down",
                self.name
            );
        }
        // Its end is noticed by whoever waits for the next message.
        let _ = self.call.0.cancel().sleep(slowed.wait);
    }

    fn may_log(&self, bytes: usize) -> bool {
        match self.pace.borrow_mut().log(bytes, Instant::now()) {
            Logged::Yes => true,
            Logged::LeftOut => false,
            Logged::FirstLeftOut => {
                tracing::warn!(
                    "the engine {} logs more than {} KiB a minute: the rest of this minute is \
                     left out",
                    self.name,
                    ENGINE_LOG_BYTES_PER_MINUTE_MAX >> 10
                );
                false
            }
        }
    }

    fn watch(&self, group: i32) -> Box<dyn std::any::Any> {
        self.call.watch(group)
    }
}
