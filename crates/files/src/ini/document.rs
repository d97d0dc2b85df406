//! A file of sections and options, comments kept.
//!
//! Invariant: options that nobody changes keep their values and their order;
//! the spaces around the separator are made alike, as Salt makes them.

use halite_call::python;
use halite_proto::{Map, Value};

/// A line of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Comment(String),
    Option { key: String, value: String },
}

/// A section; the first has no name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Section {
    name: String,
    items: Vec<Item>,
}

impl Section {
    fn get(&self, wanted: &str) -> Option<&str> {
        self.items.iter().find_map(|item| match item {
            Item::Option { key, value } if key == wanted => Some(value.as_str()),
            _ => None,
        })
    }

    fn set(&mut self, wanted: &str, new: &str, separator: &str) {
        for item in &mut self.items {
            if let Item::Option { key, value } = item
                && key == wanted
            {
                new.clone_into(value);
                return;
            }
        }
        let option = Item::Option {
            key: wanted.to_owned(),
            value: new.to_owned(),
        };
        // An option that is switched off by a comment is switched on there.
        let at = self.items.iter().position(|item| match item {
            Item::Comment(line) => {
                let text = line.trim_start_matches([' ', '\t', '\n', '#', ';']);
                text.split_once(separator)
                    .is_some_and(|(key, _)| key.trim() == wanted)
            }
            Item::Option { .. } => false,
        });
        match at {
            Some(at) => self.items[at] = option,
            None => self.items.push(option),
        }
    }

    fn options(&self) -> Map {
        self.items
            .iter()
            .filter_map(|item| match item {
                Item::Option { key, value } => Some((key.as_str(), value.as_str())),
                Item::Comment(_) => None,
            })
            .collect()
    }
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    separator: String,
    sections: Vec<Section>,
}

impl Document {
    /// Reads a file.
    pub(crate) fn parse(text: &str, separator: &str) -> Self {
        let mut sections = vec![Section::default()];
        // Blank lines stay where a comment follows them.
        let mut blank = 0;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() {
                blank += 1;
                continue;
            }
            let blank = std::mem::take(&mut blank);
            if let Some(name) = trimmed
                .strip_prefix('[')
                .and_then(|rest| rest.rsplit_once(']'))
            {
                let name = name.0.trim().to_owned();
                if let Some(at) = sections.iter().position(|section| section.name == name) {
                    let section = sections.remove(at);
                    sections.push(section);
                } else {
                    sections.push(Section {
                        name,
                        ..Section::default()
                    });
                }
                continue;
            }
            let Some(section) = sections.last_mut() else {
                continue;
            };
            if trimmed.starts_with(['#', ';']) {
                let before = "\n".repeat(blank);
                section.items.push(Item::Comment(format!("{before}{line}")));
                continue;
            }
            if line.starts_with(char::is_whitespace)
                && let Some(Item::Option { value, .. }) = section.items.last_mut()
                && !trimmed.contains(separator)
            {
                value.push('\n');
                value.push_str(line);
                continue;
            }
            match trimmed.split_once(separator) {
                Some((key, value)) => section.items.push(Item::Option {
                    key: key.trim().to_owned(),
                    value: value.trim().to_owned(),
                }),
                None => section.items.push(Item::Comment(line.to_owned())),
            }
        }
        Self {
            separator: separator.to_owned(),
            sections,
        }
    }

    /// The file.
    pub(crate) fn text(&self, no_spaces: bool) -> String {
        let around = if no_spaces || self.separator == " " {
            self.separator.clone()
        } else {
            format!(" {} ", self.separator)
        };
        let mut text = String::new();
        for (at, section) in self.sections.iter().enumerate() {
            if at > 0 {
                text.push_str(&format!("\n[{}]\n", section.name));
            }
            for item in &section.items {
                match item {
                    Item::Comment(line) => text.push_str(line),
                    Item::Option { key, value } => text.push_str(&format!("{key}{around}{value}")),
                }
                text.push('\n');
            }
        }
        match text.strip_prefix('\n') {
            Some(rest) if rest.starts_with('[') => rest.to_owned(),
            _ => text,
        }
    }

    fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The options of a section; of those before all sections if it is empty.
    pub(crate) fn options(&self, section: &str) -> Option<Map> {
        self.section(section).map(Section::options)
    }

    /// The value of an option.
    pub(crate) fn get(&self, section: &str, option: &str) -> Option<&str> {
        self.section(section)
            .and_then(|section| section.get(option))
    }

    /// The names of the sections.
    pub(crate) fn sections(&self) -> Vec<String> {
        self.sections
            .iter()
            .skip(1)
            .map(|section| section.name.clone())
            .collect()
    }

    /// Everything, sections as maps.
    pub(crate) fn to_map(&self) -> Map {
        let mut map = self.options("").unwrap_or_default();
        for section in self.sections.iter().skip(1) {
            map.insert(section.name.as_str(), section.options());
        }
        map
    }

    /// Sets options and sections; what was changed.
    pub(crate) fn update(&mut self, wanted: &Map) -> Map {
        let separator = self.separator.clone();
        let mut changes = Map::new();
        for (name, value) in wanted {
            let name = python::str(name);
            let Value::Map(options) = value else {
                let root = &mut self.sections[0];
                changes.extend(set_one(root, &name, value, &separator));
                continue;
            };
            match self
                .sections
                .iter_mut()
                .skip(1)
                .find(|section| section.name == name)
            {
                Some(section) => {
                    let mut own = Map::new();
                    for (key, value) in options {
                        own.extend(set_one(section, &python::str(key), value, &separator));
                    }
                    if !own.is_empty() {
                        changes.insert(name, own);
                    }
                }
                None => {
                    let mut section = Section {
                        name: name.clone(),
                        ..Section::default()
                    };
                    for (key, value) in options {
                        section.set(&python::str(key), &python::str(value), &separator);
                    }
                    let change =
                        Map::from([("before", Value::Nil), ("after", section.options().into())]);
                    changes.insert(name, change);
                    self.sections.push(section);
                }
            }
        }
        changes
    }

    /// Removes an option; its value.
    pub(crate) fn remove_option(&mut self, section: &str, option: &str) -> Option<String> {
        let section = self
            .sections
            .iter_mut()
            .find(|known| known.name == section)?;
        let at = section
            .items
            .iter()
            .position(|item| matches!(item, Item::Option { key, .. } if key == option))?;
        match section.items.remove(at) {
            Item::Option { value, .. } => Some(value),
            Item::Comment(_) => None,
        }
    }

    /// Removes a section; its options.
    pub(crate) fn remove_section(&mut self, name: &str) -> Option<Map> {
        let at = self
            .sections
            .iter()
            .skip(1)
            .position(|section| section.name == name)?;
        Some(self.sections.remove(at + 1).options())
    }
}

fn set_one(section: &mut Section, key: &str, value: &Value, separator: &str) -> Map {
    let new = python::str(value);
    let old = section.get(key).map(str::to_owned);
    if old.as_deref() == Some(&new) {
        return Map::new();
    }
    section.set(key, &new, separator);
    let change = Map::from([("before", Value::from(old)), ("after", new.into())]);
    Map::from([(key, change)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_changed_and_written() {
        let text = "top=1\n# note\n[a]\nx = 1\n;y = 2\nlong = one\n  two\n[b]\nz: 3\n";
        let mut ini = Document::parse(text, "=");
        assert_eq!(ini.get("a", "x"), Some("1"));
        assert_eq!(ini.get("a", "long"), Some("one\n  two"));
        let wanted = Map::from([("a", Map::from([("x", 1), ("y", 5)]))]);
        let changes = ini.update(&wanted);
        assert_eq!(changes.get("a").unwrap().as_map().unwrap().len(), 1);
        assert_eq!(
            ini.text(false),
            "top = 1\n# note\n\n[a]\nx = 1\ny = 5\nlong = one\n  two\n\n[b]\nz: 3\n"
        );
        assert_eq!(ini.remove_option("a", "y").as_deref(), Some("5"));
        assert!(ini.remove_section("b").is_some());
        assert_eq!(ini.sections(), ["a"]);
    }
}
