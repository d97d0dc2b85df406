//! Signatures of functions, read once for a job: a state run calls the same
//! function a thousand times.
//!
//! Invariant: what is kept goes with the job, and is no more than the functions
//! it has called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use halite_signature::{Signature, SignatureError};

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
    use super::*;

    #[test]
    fn a_signature_is_read_once_for_a_job_and_its_clones() {
        let registry = crate::Registry::core();
        let signatures = Signatures::default();
        let of = |name: &str| signatures.clone().of(registry.get(name).unwrap()).unwrap();
        assert!(Arc::ptr_eq(&of("test.ping"), &of("test.ping")));
        assert_ne!(of("test.arg"), of("test.ping"));
        let other = Signatures::default();
        let function = registry.get("test.ping").unwrap();
        assert!(!Arc::ptr_eq(&other.of(function).unwrap(), &of("test.ping")));
    }
}
