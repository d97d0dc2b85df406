//! Every option that Salt has, with its default, so that a name we do not
//! honour is told from one that nobody knows.

use halite_proto::{Map, Value};

use crate::suggest;

static TABLE: &str = include_str!("../data/salt-options.txt");

/// Which program's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Master,
    Minion,
}

impl Side {
    fn letter(self) -> &'static str {
        match self {
            Self::Master => "m",
            Self::Minion => "n",
        }
    }
}

/// Whether any program of Salt has this option.
pub(crate) fn is_known(name: &str) -> bool {
    rows().any(|(known, _, _)| known == name)
}

/// Whether the program of that side has this option.
pub(crate) fn is_of(side: Side, name: &str) -> bool {
    rows().any(|(known, letter, _)| known == name && letter == side.letter())
}

/// The nearest name of an option to `wrong`, ours included.
pub(crate) fn nearest(wrong: &str, ours: &'static [&'static str]) -> Option<&'static str> {
    suggest::nearest(
        wrong,
        rows().map(|(name, _, _)| name).chain(ours.iter().copied()),
    )
}

/// Salt's defaults on one side.
pub(crate) fn defaults(side: Side) -> Map {
    let mut map = Map::new();
    for (name, letter, default) in rows() {
        if letter == side.letter() && !default.is_empty() {
            // The table is JSON, which YAML contains; a test reads all of it.
            let value =
                halite_yaml::load(default, name).map_or(Value::Nil, |node| node.into_value());
            map.insert(name, value);
        }
    }
    map
}

/// Salt's default of one option on one side.
pub(crate) fn default(side: Side, name: &str) -> Option<Value> {
    let (_, _, default) =
        rows().find(|(known, letter, _)| *known == name && *letter == side.letter())?;
    let node = halite_yaml::load(default, name).ok()?;
    (!default.is_empty()).then(|| node.into_value())
}

fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut fields = line.splitn(3, '\t');
            Some((fields.next()?, fields.next()?, fields.next()?))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert!(rows().count() > 600);
        for (name, _, default) in rows() {
            assert!(
                default.is_empty() || halite_yaml::load(default, name).is_ok(),
                "{name}"
            );
        }
        assert_eq!(
            defaults(Side::Master).get("ret_port"),
            Some(&Value::Int(4506))
        );
        let buffer = |side| defaults(side).get("file_buffer_size").cloned();
        assert_eq!(buffer(Side::Master), Some(Value::Int(1_048_576)));
        assert_eq!(buffer(Side::Minion), Some(Value::Int(262_144)));
    }
}
