//! Arguments of calls, and how functions of ours take them.

use crate::error::{Error, Result};
use crate::source::Str;
use crate::value::Value;

/// The arguments of one call.
#[derive(Clone, Default)]
pub(crate) struct Args {
    pub(crate) pos: Vec<Value>,
    pub(crate) named: Vec<(Str, Value)>,
}

impl Args {
    pub(crate) fn positional(pos: Vec<Value>) -> Self {
        Self {
            pos,
            named: Vec::new(),
        }
    }

    /// The arguments in the order of their names; an error if one of the first
    /// `required` is missing, or one is not known.
    pub(crate) fn bind<const N: usize>(
        self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        let given = self.pos.len();
        if given > N {
            let s = if N == 1 { "" } else { "s" };
            return Err(Error::of_type(format!(
                "{function}() takes {N} positional argument{s} but {given} were given"
            )));
        }
        let mut bound = [const { None }; N];
        for (slot, value) in bound.iter_mut().zip(self.pos) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            let slot = names.iter().position(|known| **known == *name);
            let slot = slot.and_then(|at| bound.get_mut(at)).ok_or_else(|| {
                Error::of_type(format!(
                    "{function}() got an unexpected keyword argument '{name}'"
                ))
            })?;
            if slot.is_some() {
                return Err(Error::of_type(format!(
                    "{function}() got multiple values for argument '{name}'"
                )));
            }
            *slot = Some(value);
        }
        for (name, slot) in names.iter().zip(&bound).take(required) {
            if slot.is_none() {
                return Err(Error::of_type(format!(
                    "{function}() missing 1 required positional argument: '{name}'"
                )));
            }
        }
        Ok(bound)
    }

    /// Takes a named argument away.
    pub(crate) fn take_named(&mut self, name: &str) -> Option<Value> {
        let at = self.named.iter().position(|(other, _)| &**other == name)?;
        Some(self.named.remove(at).1)
    }

    /// An error if there are named arguments.
    pub(crate) fn no_named(&self, function: &str) -> Result<()> {
        match self.named.first() {
            None => Ok(()),
            Some(_) => Err(Error::of_type(format!(
                "{function}() takes no keyword arguments"
            ))),
        }
    }
}
