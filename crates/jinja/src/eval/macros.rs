//! Macros: functions made of template text.

use std::sync::Arc;

use halite_proto::python;

use super::{Args, Env, Machine, Sink};
use crate::ast::MacroDef;
use crate::error::{Error, Result};
use crate::source::Str;
use crate::value::{Dict, Key, Undefined, Value};

/// A macro with the place where it was defined.
pub(crate) struct MacroValue {
    def: Arc<MacroDef>,
    env: Env,
}

impl MacroValue {
    pub(crate) fn new(machine: &Machine<'_>, def: &Arc<MacroDef>, env: &Env) -> Self {
        machine.capture(env);
        Self {
            def: Arc::clone(def),
            env: env.clone(),
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.def.name.as_deref()
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<Value> {
        let def = &self.def;
        Some(match name {
            "name" => def.name.clone().map_or(Value::None, Value::Str),
            "arguments" => Value::tuple(
                def.parameters
                    .iter()
                    .map(|(name, _)| Value::Str(Str::clone(name)))
                    .collect(),
            ),
            "catch_kwargs" => Value::Bool(def.takes_kwargs),
            "catch_varargs" => Value::Bool(def.takes_varargs),
            "caller" => Value::Bool(def.takes_caller),
            _ => return None,
        })
    }

    /// The text of one call.
    pub(crate) fn call(&self, machine: &Machine<'_>, mut args: Args) -> Result<Value> {
        let def = &self.def;
        let env = self.env.inner();
        let count = def.parameters.len();
        let extra = if args.pos.len() > count {
            args.pos.split_off(count)
        } else {
            Vec::new()
        };
        let mut explicit_caller = false;
        let mut given = args.pos.drain(..).collect::<Vec<_>>().into_iter();
        for (name, default) in &def.parameters {
            explicit_caller |= &**name == "caller";
            let value = match given.next() {
                Some(value) => Some(value),
                None => args.take_named(name),
            };
            let value = match (value, default) {
                (Some(value), _) => value,
                (None, Some(default)) => machine.eval(&env, default)?,
                (None, None) => {
                    let message = format!("parameter '{name}' was not provided");
                    Undefined::hint(message, machine.lenient())
                }
            };
            env.set(name, value);
        }
        if def.takes_caller && !explicit_caller {
            let caller = args.take_named("caller").filter(|value| !value.is_none());
            let caller =
                caller.unwrap_or_else(|| Undefined::hint("No caller defined", machine.lenient()));
            env.set(&"caller".into(), caller);
        }
        if def.takes_kwargs {
            let entries = args
                .named
                .drain(..)
                .map(|(name, value)| (Key::text(name), value));
            let kwargs: Dict = entries.collect();
            env.set(&"kwargs".into(), Value::dict(kwargs));
        } else if let Some((name, _)) = args.named.first() {
            let has_caller = args.named.iter().any(|(name, _)| &**name == "caller");
            return Err(self.unexpected_argument(name, has_caller));
        }
        if def.takes_varargs {
            env.set(&"varargs".into(), Value::tuple(extra));
        } else if !extra.is_empty() {
            return Err(Error::of_type(format!(
                "macro {} takes not more than {count} argument(s)",
                self.shown_name()
            )));
        }
        let mut sink = Sink::default();
        machine.body(&env, &def.body, &mut sink)?;
        Ok(Value::str(sink.text))
    }

    /// The name as Python's `repr` shows it.
    fn shown_name(&self) -> String {
        let name = self.def.name.as_deref();
        name.map_or_else(|| "None".to_owned(), python::str_repr)
    }

    fn unexpected_argument(&self, name: &str, has_caller: bool) -> Error {
        let shown = self.shown_name();
        Error::of_type(match has_caller {
            true => format!(
                "macro {shown} was invoked with two values for the special caller argument. This \
                 is most likely a bug."
            ),
            false => format!(
                "macro {shown} takes no keyword argument {}",
                python::str_repr(name)
            ),
        })
    }
}
