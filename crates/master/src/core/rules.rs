//! Which files an event calls for: the option `reactor`, and what `reactor.*`
//! adds to it.
//!
//! Invariant: a file is called for at most once by one event, in the order of
//! the rules.

use halite_proto::{Map, Value};
use halite_target::glob::fnmatch;

/// Globs on tags, and the files they call for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules(Vec<(String, Vec<String>)>);

/// Rules at most; further ones are refused.
const RULES_MAX: usize = 1000;

impl Rules {
    /// Reads the option `reactor`: a list of maps from globs on tags to files.
    ///
    /// # Errors
    /// With what is no rule, and its place in the list.
    pub fn read(option: Option<&Value>) -> Result<Self, String> {
        let mut rules = Self::default();
        let list = match option {
            None | Some(Value::Nil) => return Ok(rules),
            Some(Value::List(list)) => list.as_slice(),
            Some(Value::Map(map)) if map.is_empty() => return Ok(rules),
            Some(_) => return Err("it must be a list of maps from tags to files".to_owned()),
        };
        for (at, item) in list.iter().enumerate() {
            let at = at + 1;
            let map = item
                .as_map()
                .ok_or_else(|| format!("item {at} is no map from a tag to files"))?;
            for (tag, files) in map {
                let tag = tag
                    .as_str()
                    .ok_or_else(|| format!("item {at}: a tag must be text"))?;
                let files = files_of(files)
                    .ok_or_else(|| format!("item {at}: {tag:?} must call for a list of files"))?;
                if !files.is_empty() {
                    rules.0.push((tag.to_owned(), files));
                }
            }
        }
        Ok(rules)
    }

    /// Whether there are none.
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

    /// Removes the rules for a glob; false if there are none.
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

fn files_of(files: &Value) -> Option<Vec<String>> {
    match files {
        Value::Nil => Some(Vec::new()),
        Value::Str(file) => Some(vec![file.clone()]),
        Value::List(files) => files
            .iter()
            .map(|file| file.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        halite_yaml::load(text, "test").unwrap().into_value()
    }

    #[test]
    fn events_call_for_files_by_their_tags() {
        let option =
            "- 'salt/minion/*/start': [/a.sls, /b.sls]\n- 'salt/*': /b.sls\n- my/tag: []\n";
        let rules = Rules::read(Some(&yaml(option))).unwrap();
        assert_eq!(
            rules.files_for("salt/minion/web1/start"),
            ["/a.sls", "/b.sls"]
        );
        assert_eq!(rules.files_for("salt/auth"), ["/b.sls"]);
        assert!(rules.files_for("my/tag").is_empty());
        assert!(Rules::read(None).unwrap().is_empty());
        for (option, why) in [
            ("5", "it must be a list"),
            ("- a: [/x]\n- b", "item 2 is no map"),
            ("- a: [/x]\n- b: 5", "item 2: \"b\" must call for"),
            ("- 5: [/x]", "item 1: a tag must be text"),
        ] {
            let error = Rules::read(Some(&yaml(option))).unwrap_err();
            assert!(error.starts_with(why), "{option}: {error}");
        }
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
