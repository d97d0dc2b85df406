//! Chooses the first of several sources that exists.

use halite_call::{Call, CallError, WebFile, python};
use halite_proto::Value;

use super::{Scheme, fetch, local_path, scheme};

/// A source and its hash, as given or as chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    /// The source, none or a text.
    pub(crate) source: Value,
    /// Its hash, none or a text.
    pub(crate) hash: Value,
}

/// The source to use: a single one as it is, of a list the first that exists.
///
/// # Errors
/// When none of a list is there.
pub(crate) fn choose(
    call: &Call<'_>,
    source: &Value,
    hash: &Value,
    saltenv: &str,
) -> Result<Chosen, CallError> {
    let Value::List(sources) = source else {
        return Ok(Chosen {
            source: source.clone(),
            hash: hash.clone(),
        });
    };
    for single in sources {
        let (url, own_hash) = match single {
            Value::Map(map) if map.len() == 1 => {
                let Some((url, hash)) = map.iter().next() else {
                    continue;
                };
                (python::str(url), hash.clone())
            }
            Value::Str(url) => (url.clone(), hash.clone()),
            _ => continue,
        };
        if exists(call, &url, saltenv)? {
            return Ok(Chosen {
                source: url.into(),
                hash: own_hash,
            });
        }
    }
    Err(CallError::command(
        "none of the specified sources were found",
    ))
}

fn exists(call: &Call<'_>, url: &str, saltenv: &str) -> Result<bool, CallError> {
    Ok(match scheme(url) {
        Scheme::Salt => fetch::hash_of(call, url, saltenv, false)?.is_some(),
        Scheme::Local => std::path::Path::new(local_path(url)).exists(),
        Scheme::Remote => WebFile::exists(url),
        Scheme::Other => false,
    })
}
