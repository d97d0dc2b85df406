//! Which sources a request means, as Salt reads `fsbackend` and `backend`.

use halite_proto::Value;

/// The sources that are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backends {
    /// All that there are.
    #[default]
    All,
    /// Those with these names.
    Only(Vec<String>),
    /// All but those with these names.
    Except(Vec<String>),
}

impl Backends {
    /// Reads a text of names with commas between them, or a list of names.
    /// Names that all have a `-` in front are not meant; among others such a
    /// name means nothing.
    pub fn from_value(named: Option<&Value>) -> Self {
        let names: Vec<&str> = match named {
            None => return Self::All,
            Some(Value::List(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::Str(names)) => names.split(',').collect(),
            Some(other) if other.is_true() => return Self::Only(Vec::new()),
            Some(_) => return Self::All,
        };
        let names: Vec<&str> = names.into_iter().map(str::trim).collect();
        if names.iter().all(|name| name.is_empty()) {
            return Self::All;
        }
        let without: Option<Vec<_>> = names
            .iter()
            .map(|name| name.strip_prefix('-').map(str::to_owned))
            .collect();
        match without {
            Some(names) => Self::Except(names),
            None => Self::Only(names.into_iter().map(str::to_owned).collect()),
        }
    }

    /// Whether a source that goes by these names is meant.
    pub(crate) fn means(&self, names: &[&str]) -> bool {
        let has_one = |named: &[String]| named.iter().any(|name| names.contains(&name.as_str()));
        match self {
            Self::All => true,
            Self::Only(named) => has_one(named),
            Self::Except(named) => !has_one(named),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Option<Value> {
        Some(Value::List(
            names.iter().copied().map(Value::from).collect(),
        ))
    }

    #[test]
    fn backends_may_be_named_or_excluded() {
        let means = |named: Option<Value>| Backends::from_value(named.as_ref()).means(&["roots"]);
        for meant in [
            None,
            Some(Value::Nil),
            Some("".into()),
            Some("roots".into()),
            Some("git,roots".into()),
            Some("-git".into()),
            list(&["roots"]),
            list(&["-git"]),
            list(&[]),
        ] {
            assert!(means(meant.clone()), "{meant:?}");
        }
        for other in [
            Some("git".into()),
            Some("-roots".into()),
            Some("-git,-roots".into()),
            list(&["git"]),
            list(&["git", "-roots"]),
            Some(Value::Int(1)),
        ] {
            assert!(!means(other.clone()), "{other:?}");
        }
    }

    #[test]
    fn a_source_goes_by_each_of_its_names() {
        let git = ["gitfs", "git"];
        for named in ["git", "gitfs", "roots,git", "-roots"] {
            assert!(
                Backends::from_value(Some(&named.into())).means(&git),
                "{named}"
            );
        }
        for named in ["-git", "-gitfs", "roots"] {
            assert!(
                !Backends::from_value(Some(&named.into())).means(&git),
                "{named}"
            );
        }
    }
}
