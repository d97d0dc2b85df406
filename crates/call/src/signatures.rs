//! Signatures of functions, read once for a job: a state run calls the same
//! function a thousand times.
//!
//! Invariant: the memory ends with the job, and holds no more than the functions it
//! has called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::signature::{Signature, SignatureError};

use crate::registry::Function;

/// The signatures that a job has needed. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Signatures(Arc<Mutex<HashMap<Key, Arc<Signature>>>>);

/// Which function: its place, since one that users have changed is another one
/// of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(usize);

impl Signatures {
    /// The signature of a function.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn of(&self, function: &'static Function) -> Result<Arc<Signature>, SignatureError> {
        let key = Key(std::ptr::from_ref(function).addr());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signature) = known.get(&key) {
            return Ok(Arc::clone(signature));
        }
        let signature = Arc::new(function.parse_signature()?);
        known.insert(key, Arc::clone(&signature));
        Ok(signature)
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::Value;

    use super::*;
    use crate::{Call, CallResult};

    #[test]
    fn a_signature_is_read_once_for_a_job_and_its_clones() {
        fn nothing(_: &Call<'_>) -> CallResult {
            Ok(Value::Nil)
        }
        static PING: Function = Function::new("test.ping", "()", nothing, "Answers.");
        static ARG: Function = Function::new("test.arg", "(*args)", nothing, "Returns them.");
        let signatures = Signatures::default();
        let of = |function: &'static Function| signatures.clone().of(function).unwrap();
        assert!(Arc::ptr_eq(&of(&PING), &of(&PING)));
        assert_ne!(of(&ARG), of(&PING));
        let other = Signatures::default();
        assert!(!Arc::ptr_eq(&other.of(&PING).unwrap(), &of(&PING)));
    }
}
