//! Which files an event selects: the option `reactor`, and the rules that
//! `reactor.*` adds.
//!
//! Invariant: one event selects a file at most once, in the order of the rules.

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

/// Globs on tags, and the files they call for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<(String, Vec<String>)>);

/// Rules at most; further ones are refused.
const RULES_MAX: usize = 1000;

impl Rules {
    /// The rules of the configuration. A rule without files has no effect.
    pub fn new(rules: impl IntoIterator<Item = (String, Vec<String>)>) -> Self {
        let rules = rules.into_iter();
        Self(rules.filter(|(_, files)| !files.is_empty()).collect())
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The files that an event calls for, each once.
    pub fn files_for(&self, tag: &str) -> Vec<&str> {
        let mut files = Vec::new();
        for (glob, of_rule) in &self.0 {
            if fnmatch(glob, tag) {
                for file in of_rule {
                    if !files.contains(&file.as_str()) {
                        files.push(file.as_str());
                    }
                }
            }
        }
        files
    }

    /// Adds a rule; false if there is one for that glob.
    ///
    /// # Errors
    /// When there are too many.
    pub fn add(&mut self, glob: &str, files: Vec<String>) -> Result<bool, String> {
        if self.0.iter().any(|(known, _)| known == glob) {
            return Ok(false);
        }
        if self.0.len() >= RULES_MAX {
            return Err(format!("there are {RULES_MAX} rules already"));
        }
        self.0.push((glob.to_owned(), files));
        Ok(true)
    }

    /// Removes the rules for a glob; false if it has none.
    pub fn delete(&mut self, glob: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(known, _)| known != glob);
        self.0.len() < before
    }

    /// In the form of the option.
    pub fn to_value(&self) -> Value {
        let rules = self.0.iter().map(|(glob, files)| {
            let files = files
                .iter()
                .map(|file| Value::from(file.as_str()))
                .collect();
            Map::from([(glob.as_str(), Value::List(files))]).into()
        });
        Value::List(rules.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        halite_yaml::load(text, "test").unwrap().into_value()
    }

    fn rules(given: &[(&str, &[&str])]) -> Rules {
        Rules::new(given.iter().map(|(tag, files)| {
            let files = files.iter().map(|file| (*file).to_owned());
            ((*tag).to_owned(), files.collect())
        }))
    }

    #[test]
    fn events_call_for_files_by_their_tags() {
        let rules = rules(&[
            ("salt/minion/*/start", &["/a.sls", "/b.sls"]),
            ("salt/*", &["/b.sls"]),
            ("x/[ab]?", &["/c.sls"]),
            ("my/tag", &[]),
        ]);
        assert_eq!(
            rules.files_for("salt/minion/web1/start"),
            ["/a.sls", "/b.sls"]
        );
        assert_eq!(rules.files_for("salt/auth"), ["/b.sls"]);
        assert_eq!(rules.files_for("x/a1"), ["/c.sls"]);
        assert!(rules.files_for("x/c1").is_empty());
        assert!(rules.files_for("my/tag").is_empty());
    }

    #[test]
    fn rules_come_and_go() {
        let mut rules = Rules::default();
        assert_eq!(rules.add("a/*", vec!["/x".to_owned()]), Ok(true));
        assert_eq!(rules.add("a/*", vec!["/y".to_owned()]), Ok(false));
        assert_eq!(rules.files_for("a/b"), ["/x"]);
        assert_eq!(rules.to_value(), yaml("- 'a/*': [/x]"));
        assert!(rules.delete("a/*") && !rules.delete("a/*"));
        assert!(rules.is_empty());
    }
}
