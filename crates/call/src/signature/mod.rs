//! Signatures in Python's notation: declared once per function, read for
//! binding arguments, for `sys.argspec` and for the messages about arguments
//! that do not fit.

mod reader;

use std::fmt;
use std::sync::Arc;

use halite_proto::{Map, Value};
use reader::Reader;
use thiserror::Error;

/// A function's parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// Named parameters that may also be given by position.
    pub params: Vec<Param>,
    /// The name of `*args`, if there is one.
    pub varargs: Option<String>,
    /// Parameters that may only be given by name.
    pub keyword_only: Vec<Param>,
    /// The name of `**kwargs`, if there is one.
    pub kwargs: Option<String>,
}

/// A parameter and its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// What it is when it is not given; `None` when it must be given.
    pub default: Option<Value>,
}

/// A signature in the table that cannot be read: a programming error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("bad signature at byte {at}: {why}")]
pub struct SignatureError {
    /// Where.
    pub at: usize,
    /// What is wrong.
    pub why: &'static str,
}

/// Arguments in the places the signature gives them.
#[derive(Debug, Clone, Default)]
pub struct Bound {
    signature: Arc<Signature>,
    /// For each parameter what was given.
    values: Vec<Option<Value>>,
    /// The rest of the positional arguments.
    pub varargs: Vec<Value>,
    /// The rest of the keyword arguments.
    pub kwargs: Map,
}

impl Bound {
    /// The value of the parameter `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.place(name)?;
        let given = self.values.get(at).and_then(Option::as_ref);
        let default = || self.signature.all().nth(at)?.default.as_ref();
        Some(given.or_else(default).unwrap_or(&Value::Nil))
    }

    /// Whether the caller gave the parameter `name`.
    pub fn is_given(&self, name: &str) -> bool {
        let value = self.place(name).and_then(|at| self.values.get(at));
        value.is_some_and(Option::is_some)
    }

    /// The signature that says which places there are.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.signature.all().position(|known| known.name == name)
    }
}

impl Signature {
    /// Reads `(a, b=None, *args, c='x', **kwargs)`.
    ///
    /// # Errors
    /// When the text is no such list.
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        let mut reader = Reader::new(text);
        let mut signature = Self::default();
        let mut after_star = false;
        reader.expect("(")?;
        while !reader.take(")") {
            if reader.take("**") {
                signature.kwargs = Some(reader.name()?);
            } else if reader.take("*") {
                after_star = true;
                if !reader.sees(",") {
                    signature.varargs = Some(reader.name()?);
                }
            } else {
                let name = reader.name()?;
                let default = if reader.take("=") {
                    Some(reader.literal()?)
                } else {
                    None
                };
                let param = Param { name, default };
                if after_star {
                    signature.keyword_only.push(param);
                } else {
                    signature.params.push(param);
                }
            }
            if !reader.sees(")") {
                reader.expect(",")?;
            }
        }
        if reader.is_done() {
            Ok(signature)
        } else {
            Err(reader.error("text after the closing parenthesis"))
        }
    }

    /// Whether a keyword argument called `name` fits.
    pub fn takes_keyword(&self, name: &str) -> bool {
        self.kwargs.is_some() || self.all().any(|param| param.name == name)
    }

    /// Puts arguments in their places; `function` is how messages call it.
    ///
    /// # Errors
    /// Python's message when they do not fit.
    pub fn bind(&self, function: &str, args: Vec<Value>, kwargs: Map) -> Result<Bound, String> {
        Arc::new(self.clone()).bind_shared(function, args, kwargs)
    }

    /// As [`Self::bind`], of a signature that is kept for the next call.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_shared(
        self: &Arc<Self>,
        function: &str,
        args: Vec<Value>,
        kwargs: Map,
    ) -> Result<Bound, String> {
        let given_count = args.len();
        let mut bound = Bound::default();
        let mut args = args.into_iter();
        let mut slots = Vec::with_capacity(self.params.len() + self.keyword_only.len());
        slots.extend(self.params.iter().map(|_| args.next()));
        bound.varargs = args.collect();
        slots.extend(self.keyword_only.iter().map(|_| None));

        for (key, value) in kwargs {
            let name = key.as_str().unwrap_or_default();
            let place = self.all().position(|param| param.name == name);
            match place {
                Some(at) if slots[at].is_some() => {
                    return Err(format!(
                        "{function}() got multiple values for argument '{name}'"
                    ));
                }
                Some(at) => slots[at] = Some(value),
                None if self.kwargs.is_some() => {
                    bound.kwargs.insert(key, value);
                }
                None => {
                    return Err(format!(
                        "{function}() got an unexpected keyword argument '{name}'"
                    ));
                }
            }
        }
        if self.varargs.is_none() && !bound.varargs.is_empty() {
            return Err(self.too_many(function, given_count));
        }
        self.check_missing(function, &slots)?;
        bound.values = slots;
        bound.signature = Arc::clone(self);
        Ok(bound)
    }

    fn all(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().chain(&self.keyword_only)
    }

    fn too_many(&self, function: &str, given: usize) -> String {
        let most = self.params.len();
        let least = self
            .params
            .iter()
            .filter(|param| param.default.is_none())
            .count();
        let takes = if least == most {
            most.to_string()
        } else {
            format!("from {least} to {most}")
        };
        let plural = if (least, most) == (1, 1) { "" } else { "s" };
        let verb = if given == 1 { "was" } else { "were" };
        format!("{function}() takes {takes} positional argument{plural} but {given} {verb} given")
    }

    fn check_missing(&self, function: &str, slots: &[Option<Value>]) -> Result<(), String> {
        let (positional, keyword) = slots.split_at(self.params.len());
        for (kind, params, slots) in [
            ("positional", &self.params, positional),
            ("keyword-only", &self.keyword_only, keyword),
        ] {
            let missing: Vec<String> = params
                .iter()
                .zip(slots)
                .filter(|(param, slot)| param.default.is_none() && slot.is_none())
                .map(|(param, _)| format!("'{}'", param.name))
                .collect();
            let count = missing.len();
            let names = match missing.as_slice() {
                [] => continue,
                [one] => one.clone(),
                [one, two] => format!("{one} and {two}"),
                [most @ .., last] => format!("{}, and {last}", most.join(", ")),
            };
            let plural = if count == 1 { "" } else { "s" };
            return Err(format!(
                "{function}() missing {count} required {kind} argument{plural}: {names}"
            ));
        }
        Ok(())
    }

    /// What `sys.argspec` says: names, defaults and the two catch-alls.
    pub fn argspec(&self) -> Map {
        let list_or_nil = |items: Vec<Value>| {
            if items.is_empty() {
                Value::Nil
            } else {
                Value::List(items)
            }
        };
        let names = self.all().map(|param| Value::from(param.name.as_str()));
        let defaults = self.all().filter_map(|param| param.default.clone());
        let flag = |name: &Option<String>| name.as_ref().map_or(Value::Nil, |_| Value::Bool(true));
        Map::from([
            ("args", list_or_nil(names.collect())),
            ("defaults", list_or_nil(defaults.collect())),
            ("varargs", flag(&self.varargs)),
            ("kwargs", flag(&self.kwargs)),
        ])
    }
}

/// The shell that commands run in when none is named: `$SHELL`, else `/bin/sh`.
pub fn default_shell() -> String {
    std::env::var("SHELL")
        .ok()
        .filter(|shell| !shell.is_empty())
        .unwrap_or_else(|| "/bin/sh".to_owned())
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(signature: &str, args: &[i64], kwargs: &[(&str, i64)]) -> Result<Bound, String> {
        let args = args.iter().map(|arg| Value::from(*arg)).collect();
        let kwargs = kwargs.iter().copied().collect();
        Signature::parse(signature).unwrap().bind("f", args, kwargs)
    }

    #[test]
    fn messages_are_those_of_python() {
        for (signature, args, kwargs, message) in [
            (
                "(a)",
                &[][..],
                &[][..],
                "f() missing 1 required positional argument: 'a'",
            ),
            (
                "(a, b)",
                &[],
                &[],
                "f() missing 2 required positional arguments: 'a' and 'b'",
            ),
            (
                "(a, b, c)",
                &[],
                &[],
                "f() missing 3 required positional arguments: 'a', 'b', and 'c'",
            ),
            (
                "()",
                &[1],
                &[],
                "f() takes 0 positional arguments but 1 was given",
            ),
            (
                "(a)",
                &[1, 2],
                &[],
                "f() takes 1 positional argument but 2 were given",
            ),
            (
                "(a, b=1)",
                &[1, 2, 3],
                &[],
                "f() takes from 1 to 2 positional arguments but 3 were given",
            ),
            (
                "(a)",
                &[1],
                &[("a", 2)],
                "f() got multiple values for argument 'a'",
            ),
            (
                "(a)",
                &[1],
                &[("b", 2)],
                "f() got an unexpected keyword argument 'b'",
            ),
            (
                "(*, a)",
                &[],
                &[],
                "f() missing 1 required keyword-only argument: 'a'",
            ),
        ] {
            assert_eq!(
                bind(signature, args, kwargs).unwrap_err(),
                message,
                "{signature}"
            );
        }
    }

    #[test]
    fn arguments_find_their_places() {
        let bound = bind(
            "(a, b=7, *rest, c='x', **kw)",
            &[1, 2, 3],
            &[("c", 4), ("z", 5)],
        )
        .unwrap();
        assert_eq!(bound.get("a"), Some(&Value::from(1)));
        assert_eq!(bound.get("b"), Some(&Value::from(2)));
        assert_eq!(bound.varargs, [Value::from(3)]);
        assert_eq!(bound.get("c"), Some(&Value::from(4)));
        assert_eq!(bound.kwargs, Map::from([("z", 5)]));
        let bound = bind("(a, b='y, )', c=-1)", &[1], &[]).unwrap();
        assert_eq!(bound.get("b"), Some(&Value::from("y, )")));
        assert_eq!(bound.get("c"), Some(&Value::from(-1)));
        assert!(bound.is_given("a") && !bound.is_given("b"));
    }
}
