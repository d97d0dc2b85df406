//! Every option that Salt has, with its default, to distinguish an option that we
//! do not honour from an unknown name.

use std::sync::LazyLock;

use halite_proto::{Map, Value};

use crate::suggest;

static TABLE: &str = include_str!("../data/salt-options.txt");

/// The lines of the table, by name as they stand there.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let mut fields = line.splitn(3, '\t');
        Some(Row {
            name: fields.next()?,
            letter: fields.next()?,
            default: fields.next()?,
        })
    };
    lines.filter_map(row).collect()
});

/// An option of one side.
struct Row {
    name: &'static str,
    letter: &'static str,
    /// In JSON; empty if there is none.
    default: &'static str,
}

impl Row {
    fn value(&self) -> Option<Value> {
        Some(match self.default {
            "" => return None,
            // What most of them are.
            "false" => Value::Bool(false),
            "true" => Value::Bool(true),
            "null" => Value::Nil,
            "\"\"" => Value::Str(String::new()),
            "[]" => Value::List(Vec::new()),
            "{}" => Value::Map(Map::new()),
            // JSON, which YAML contains; a test reads all of it.
            other => halite_yaml::load_data(other, self.name).map_or(Value::Nil, |data| data.value),
        })
    }
}

/// Which program's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Master,
    Minion,
}

impl Side {
    /// The other program's.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Master => Self::Minion,
            Self::Minion => Self::Master,
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Master => "m",
            Self::Minion => "n",
        }
    }
}

/// Whether any program of Salt has this option.
pub(crate) fn is_known(name: &str) -> bool {
    !rows_of(name).is_empty()
}

/// Whether the program of that side has this option.
pub(crate) fn is_of(side: Side, name: &str) -> bool {
    rows_of(name).iter().any(|row| row.letter == side.letter())
}

/// Whether there is an option that `fits`.
#[cfg(test)]
pub(crate) fn any(fits: impl Fn(&str) -> bool) -> bool {
    ROWS.iter().any(|row| fits(row.name))
}

/// The names of all options that the program of that side may have: its own,
/// and those that are listed without a side.
#[cfg(test)]
pub(crate) fn names(side: Side) -> impl Iterator<Item = (&'static str, bool)> {
    let rows = ROWS
        .iter()
        .filter(move |row| row.letter == side.letter() || row.letter == "o");
    let mut names: Vec<_> = rows.map(|row| row.name).collect();
    names.dedup();
    names.into_iter().map(move |name| (name, is_of(side, name)))
}

/// The nearest name of an option to `wrong`, ours included.
pub(crate) fn nearest(wrong: &str, ours: &'static [&'static str]) -> Option<&'static str> {
    let salts = ROWS.iter().map(|row| row.name);
    suggest::nearest(wrong, salts.chain(ours.iter().copied()))
}

/// Salt's defaults on one side.
pub(crate) fn defaults(side: Side) -> Map {
    let rows = ROWS.iter().filter(|row| row.letter == side.letter());
    rows.filter_map(|row| Some((row.name, row.value()?)))
        .collect()
}

/// Salt's default of one option on one side.
pub(crate) fn default(side: Side, name: &str) -> Option<Value> {
    let mut rows = rows_of(name).iter();
    rows.find(|row| row.letter == side.letter())?.value()
}

/// The rows of one option, of which each side has its own.
fn rows_of(name: &str) -> &'static [Row] {
    let start = ROWS.partition_point(|row| row.name < name);
    let rows = ROWS.get(start..).unwrap_or_default();
    let count = rows.iter().take_while(|row| row.name == name).count();
    rows.get(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert!(ROWS.len() > 600);
        assert!(ROWS.is_sorted_by_key(|row| row.name));
        for row in ROWS.iter().filter(|row| !row.default.is_empty()) {
            let read = halite_yaml::load(row.default, row.name).unwrap();
            assert_eq!(row.value(), Some(read.into_value()), "{}", row.name);
        }
        assert!(is_known("worker_threads") && is_of(Side::Master, "worker_threads"));
        assert!(!is_of(Side::Minion, "worker_threads") && !is_known("worker_thread"));
        assert_eq!(
            defaults(Side::Master).get("ret_port"),
            Some(&Value::Int(4506))
        );
        let buffer = |side| defaults(side).get("file_buffer_size").cloned();
        assert_eq!(buffer(Side::Master), Some(Value::Int(1_048_576)));
        assert_eq!(buffer(Side::Minion), Some(Value::Int(262_144)));
    }
}
