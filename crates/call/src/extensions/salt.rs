//! The functions of the Salt that is installed for this machine's Python, for
//! listings of what can be called. Reading all of it takes a second or more.

use std::sync::atomic::Ordering;

use halite_proto::Value;
use halite_pyworker::Request;

use super::host::CallHost;
use super::{ExtensionKind, NO_SALT};
use crate::call::Call;
use crate::python;

/// One function of the installed Salt.
#[derive(Clone, Debug)]
pub struct Known {
    /// `module.function`.
    pub name: String,
    /// Its parameters in Python's notation.
    pub signature: String,
    /// Its text, if that was asked for.
    pub doc: String,
}

/// Its functions, all or those of a module; none where there is no Salt, or no
/// Python, or the configuration does not want them.
pub fn catalog(
    call: &Call<'_>,
    kind: ExtensionKind,
    module: Option<&str>,
    docs: bool,
) -> Vec<Known> {
    let wanted = call
        .ctx
        .opts()
        .get("python_fallback")
        .is_none_or(Value::is_true);
    if !wanted || NO_SALT.load(Ordering::Relaxed) {
        return Vec::new();
    }
    let request = Request::Catalog {
        kind: kind.name(),
        module,
        docs,
    };
    let found = match kind.workers().run(&CallHost(call), request) {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(%error, "the functions of an installed Salt are not told of");
            if error.is_without_python() {
                NO_SALT.store(true, Ordering::Relaxed);
            }
            return Vec::new();
        }
    };
    if found.get("salt") == Some(&Value::Bool(false)) {
        NO_SALT.store(true, Ordering::Relaxed);
    }
    let functions = found.get("functions").and_then(Value::as_list);
    let functions = functions.unwrap_or_default().iter();
    functions
        .filter_map(|function| match function.as_list()? {
            [name, signature, doc] => Some(Known {
                name: python::str(name),
                signature: python::str(signature),
                doc: python::str(doc),
            }),
            _ => None,
        })
        .collect()
}
