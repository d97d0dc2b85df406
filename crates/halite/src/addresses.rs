//! Options whose values are addresses of `sdb`: what is behind them takes their
//! place when a minion starts, as in Salt.
//!
//! Invariant: without such a value nothing here costs more than a look at the
//! options, and no driver is asked.

use halite_fileserver::Roots;
use halite_minion::local_context::LocalContext;
use halite_modules::{Job, run_function};
use halite_proto::{Map, Value};

const SCHEME: &str = "sdb://";

/// Grains stay as they are written: Salt reads those of the configuration on
/// their own.
const AS_WRITTEN: &str = "grains";

/// Puts what is behind addresses in their place. An address that names no
/// profile stays; one that cannot be read is nothing, with an error in the log.
pub(crate) fn resolve(opts: &mut Map, roots: impl FnOnce() -> anyhow::Result<Roots>) {
    let is_meant = |key: &Value| key.as_str() != Some(AS_WRITTEN);
    let mut options = opts.iter().filter(|(key, _)| is_meant(key));
    if !options.any(|(_, value)| has_address(value)) {
        return;
    }
    let roots = match roots() {
        Ok(roots) => roots,
        Err(error) => return tracing::error!("addresses of sdb are not resolved: {error:#}"),
    };
    let context = LocalContext::new(opts.clone(), Map::new(), roots);
    let behind = |address: &str| {
        let outcome = run_function(&context, "sdb.get", &[address.into()], &Job::default());
        if outcome.success {
            return outcome.ret;
        }
        // The text may have a secret in it; the address has none.
        tracing::error!(address, "what is behind an option cannot be read");
        Value::Nil
    };
    let resolved = opts.iter().map(|(key, value)| {
        let value = match is_meant(key) {
            true => replaced(value, &behind),
            false => value.clone(),
        };
        (key.clone(), value)
    });
    *opts = resolved.collect();
}

fn has_address(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.starts_with(SCHEME),
        Value::List(items) => items.iter().any(has_address),
        Value::Map(map) => map.values().any(has_address),
        _ => false,
    }
}

fn replaced(value: &Value, behind: &dyn Fn(&str) -> Value) -> Value {
    match value {
        Value::Str(text) if text.starts_with(SCHEME) => behind(text),
        Value::List(items) => {
            let items = items.iter().map(|item| replaced(item, behind));
            Value::List(items.collect())
        }
        Value::Map(map) => {
            let entries = map.iter();
            let entries = entries.map(|(key, value)| (key.clone(), replaced(value, behind)));
            Value::Map(entries.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As real Salt 3008.5 has answered with the same options.
    #[test]
    fn whole_values_are_replaced_at_any_depth() {
        let nested = |secret: &str| {
            let inner = Map::from([("b", secret)]);
            let list = vec![secret.into(), Value::Map(Map::from([("k", secret)]))];
            Map::from([("a", Value::Map(inner)), ("l", Value::List(list))])
        };
        let behind = |_: &str| Value::from("s3cret");
        let value = Value::Map(nested("sdb://y/pw"));
        assert!(has_address(&value));
        assert_eq!(replaced(&value, &behind), Value::Map(nested("s3cret")));
        let part = Value::from("x sdb://y/pw");
        assert!(!has_address(&part));
        assert_eq!(replaced(&part, &behind), part);
    }

    #[test]
    fn drivers_and_what_names_none_are_as_in_salt() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secrets.yaml");
        std::fs::write(&file, "pw: s3cret\n").unwrap();
        let files = vec![Value::from(file.to_string_lossy().as_ref())];
        let profile = Map::from([("driver", Value::from("yaml")), ("files", files.into())]);
        let mut opts = Map::from([
            ("y", Value::from(profile)),
            ("secret", "sdb://y/pw".into()),
            ("missing", "sdb://y/nothing".into()),
            ("stranger", "sdb://nobody/pw".into()),
            ("grains", Map::from([("secret", "sdb://y/pw")]).into()),
        ]);
        resolve(&mut opts, || Ok(Roots::new(Default::default())?));
        assert_eq!(opts.get("secret"), Some(&"s3cret".into()));
        assert_eq!(opts.get("missing"), Some(&Value::Nil));
        assert_eq!(opts.get("stranger"), Some(&"sdb://nobody/pw".into()));
        let grains = opts.get("grains").and_then(|grains| grains.get("secret"));
        assert_eq!(grains, Some(&"sdb://y/pw".into()));
    }
}
