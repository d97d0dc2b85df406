//! What `ini.options_present` does to a file, decided before anything is changed.

use halite_call::python;
use halite_proto::{Map, Value};

use super::document::Document;

/// What is to be done about the options of a file.
pub(super) struct OptionsPlan {
    /// A line for every option.
    pub(super) comment: String,
    /// Whether anything is to be changed.
    pub(super) is_change: bool,
    /// What is to go.
    pub(super) surplus: Vec<Surplus>,
}

/// Something that is in a file and not wanted.
pub(super) enum Surplus {
    Section(String),
    /// An option, in a section or, with an empty name, before the first one.
    Option {
        section: String,
        option: String,
    },
}

impl OptionsPlan {
    /// Compares a file with the options that are `wanted`: maps are sections, the
    /// rest are options before the first one. With `strict`, others are surplus.
    pub(super) fn decide(ini: &Document, wanted: &Map, strict: bool) -> Self {
        let mut plan = Self {
            comment: String::new(),
            is_change: false,
            surplus: Vec::new(),
        };
        let (top, inner): (Vec<_>, Vec<_>) = wanted
            .iter()
            .partition(|(_, value)| value.as_map().is_none());
        for (key, value) in &top {
            plan.compare(ini, "", &python::str(key), value);
        }
        if strict {
            plan.other_options(ini, &top);
            plan.other_sections(ini, &inner);
        }
        for (name, body) in &inner {
            let name = python::str(name);
            let body = body.as_map().cloned().unwrap_or_default();
            if strict {
                plan.others_of_section(ini, &name, &body);
            }
            for (key, value) in &body {
                plan.compare(ini, &name, &python::str(key), value);
            }
        }
        plan.is_change |= !plan.surplus.is_empty();
        plan
    }

    fn compare(&mut self, ini: &Document, section: &str, key: &str, value: &Value) {
        let is_same = ini.get(section, key) == Some(&python::str(value));
        let verb = if is_same { "Unchanged" } else { "Changed" };
        self.say(format!("{verb} key {key}{}.", within(section)));
        self.is_change |= !is_same;
    }

    /// Options before the first section that are not wanted.
    fn other_options(&mut self, ini: &Document, wanted: &[(&Value, &Value)]) {
        for option in ini.options("").unwrap_or_default().keys().map(python::str) {
            if !is_among(wanted, &option) {
                self.say(format!("Removed key {option}."));
                let section = String::new();
                self.surplus.push(Surplus::Option { section, option });
            }
        }
    }

    /// Sections that are not wanted.
    fn other_sections(&mut self, ini: &Document, wanted: &[(&Value, &Value)]) {
        for name in ini.sections() {
            if !is_among(wanted, &name) {
                self.say(format!("Removed section {name}."));
                self.surplus.push(Surplus::Section(name));
            }
        }
    }

    /// Options of a wanted section that are not wanted.
    fn others_of_section(&mut self, ini: &Document, section: &str, wanted: &Map) {
        let has = ini.options(section).unwrap_or_default();
        for option in has.keys().map(python::str) {
            if !wanted.contains_key(&option) {
                self.say(format!("Deleted key {option}{}.", within(section)));
                let section = section.to_owned();
                self.surplus.push(Surplus::Option { section, option });
            }
        }
    }

    fn say(&mut self, line: String) {
        self.comment.push_str(&line);
        self.comment.push('\n');
    }
}

impl Surplus {
    /// Removes it from a file, and adds that to `changes`.
    pub(super) fn remove(self, ini: &mut Document, changes: &mut Map) {
        let gone =
            |before: Value| Value::from(Map::from([("before", before), ("after", Value::Nil)]));
        match self {
            Self::Option { section, option } => {
                let before = ini.remove_option(&section, &option);
                insert_change(changes, &section, &option, gone(before.into()));
            }
            Self::Section(section) => {
                let before = ini.remove_section(&section).unwrap_or_default();
                changes.insert(section, gone(before.into()));
            }
        }
    }
}

/// Adds the change of an option, below its section if it is in one.
pub(super) fn insert_change(
    changes: &mut Map,
    section: &str,
    option: &str,
    change: impl Into<Value>,
) {
    if section.is_empty() {
        changes.insert(option, change);
        return;
    }
    let own = changes.get_or_insert_with(Value::from(section), || Value::Map(Map::new()));
    if let Value::Map(own) = own {
        own.insert(option, change);
    }
}

fn is_among(wanted: &[(&Value, &Value)], name: &str) -> bool {
    wanted.iter().any(|(known, _)| python::str(known) == name)
}

/// How comments name a section; nothing before the first one.
pub(super) fn within(section: &str) -> String {
    if section.is_empty() {
        String::new()
    } else {
        format!(" in section {section}")
    }
}
