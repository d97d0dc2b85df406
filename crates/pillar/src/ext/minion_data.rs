//! `extra_minion_data_in_pillar`: what a minion says about itself
//! (`pass_to_ext_pillars`) becomes a part of its pillar.
//!
//! Mirrors `salt/pillar/extra_minion_data_in_pillar.py` (3008.5).

use halite_call::dicts::update;
use halite_proto::{Map, Value};
use halite_target::DEFAULT_DELIMITER;
use halite_target::data::traverse;

/// What is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Included {
    /// All of it.
    All,
    /// What is at these paths.
    Paths(Vec<String>),
}

impl Included {
    /// Reads `include`; nothing where it is none.
    pub(super) fn parse(arguments: &Value) -> Option<Self> {
        let include = match arguments {
            Value::Map(named) => named.get("include")?,
            Value::List(items) => items.first()?,
            one => one,
        };
        let of_all = |one: &Value| matches!(one.as_str(), Some("*" | "<all>"));
        match include {
            one if of_all(one) => Some(Self::All),
            Value::List(items) if items.iter().any(of_all) => Some(Self::All),
            Value::List(items) => Some(Self::Paths(
                items.iter().map(halite_yaml::python_str).collect(),
            )),
            Value::Str(path) => Some(Self::Paths(vec![path.clone()])),
            _ => None,
        }
    }

    /// What of `said` becomes pillar.
    pub(super) fn select(&self, said: &Map) -> Map {
        let Self::Paths(paths) = self else {
            return said.clone();
        };
        let mut taken = Map::new();
        for path in paths {
            let Some(found) = traverse(said, path, DEFAULT_DELIMITER) else {
                continue;
            };
            let parts = path.rsplit(DEFAULT_DELIMITER);
            let tree = parts.fold(found.clone(), |inner, part| {
                Map::from([(part, inner)]).into()
            });
            if let Value::Map(tree) = tree {
                update(&mut taken, &tree, true);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(yaml: &str) -> Value {
        halite_yaml::load(yaml, "test").unwrap().into_value()
    }

    #[test]
    fn what_is_included_is_taken_over() {
        let Value::Map(said) = data("{a: 1, b: {c: 2, d: 3}}") else {
            panic!("no map");
        };
        let taken = |arguments: &str| Included::parse(&data(arguments)).unwrap().select(&said);
        assert_eq!(
            Value::from(taken("{include: [a, 'b:c', no]}")),
            data("{a: 1, b: {c: 2}}")
        );
        assert_eq!(taken("{include: '*'}"), said);
        assert_eq!(taken("[<all>]"), said);
        assert_eq!(Included::parse(&data("{}")), None);
    }
}
