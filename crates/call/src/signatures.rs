//! Signatures of functions, read once for a job: a state run calls the same
//! function a thousand times.
//!
//! Invariant: the memory ends with the job, and holds no more than the functions it
//! has called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::signature::{Signature, SignatureError};

/// The signatures that a job has needed, by their texts. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Signatures(Arc<Mutex<HashMap<&'static str, Arc<Signature>>>>);

impl Signatures {
    /// The signature that a text says.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn parsed(&self, text: &'static str) -> Result<Arc<Signature>, SignatureError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signature) = known.get(text) {
            return Ok(Arc::clone(signature));
        }
        let signature = Arc::new(Signature::parse(text)?);
        known.insert(text, Arc::clone(&signature));
        Ok(signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_once_for_a_job_and_its_clones() {
        let signatures = Signatures::default();
        let parsed = |text: &'static str| signatures.clone().parsed(text).unwrap();
        assert!(Arc::ptr_eq(&parsed("()"), &parsed("()")));
        assert_ne!(parsed("(*args)"), parsed("()"));
        let other = Signatures::default();
        assert!(!Arc::ptr_eq(&other.parsed("()").unwrap(), &parsed("()")));
    }

    #[test]
    fn a_signature_that_cannot_be_read_is_not_kept() {
        let signatures = Signatures::default();
        assert!(signatures.parsed("(").is_err());
        assert!(signatures.parsed("(").is_err());
        assert!(signatures.0.lock().unwrap().is_empty());
    }
}
