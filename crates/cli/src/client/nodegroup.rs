//! Node groups of the configuration, put in place of their names before a
//! command is sent: minions know only their own groups.

use halite_proto::{Map, Value};
use thiserror::Error;

/// A target that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NodegroupError {
    /// There is no such group.
    #[error("Node group {name} unavailable in {file}")]
    Unknown {
        /// The group's name.
        name: String,
        /// Where it should be.
        file: String,
    },
    /// A group is part of itself.
    #[error("node group {0} contains itself")]
    Loop(String),
    /// A group is not made of words.
    #[error("node group {0} is neither text nor a list")]
    Malformed(String),
}

/// The groups of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Nodegroups<'a> {
    /// The groups by name.
    pub groups: &'a Map,
    /// The file they are in.
    pub file: &'a str,
}

const OPERATORS: [&str; 5] = ["and", "or", "not", "(", ")"];
const MARK: &str = "N@";

impl Nodegroups<'_> {
    /// The compound expression that a group stands for.
    ///
    /// # Errors
    /// When it, or a group in it, cannot be found or read.
    pub fn expand(&self, name: &str) -> Result<String, NodegroupError> {
        self.group(name, &mut Vec::new())
    }

    /// A compound expression with the groups in it expanded.
    ///
    /// # Errors
    /// When one of them cannot be found or read.
    pub fn expand_in(&self, expression: &str) -> Result<String, NodegroupError> {
        let words = expression.split_whitespace().map(str::to_owned);
        self.words(words, &mut Vec::new())
    }

    fn group(&self, name: &str, path: &mut Vec<String>) -> Result<String, NodegroupError> {
        if path.iter().any(|outer| outer == name) {
            return Err(NodegroupError::Loop(name.to_owned()));
        }
        let words: Vec<String> = match self.groups.get(name) {
            None => {
                return Err(NodegroupError::Unknown {
                    name: name.to_owned(),
                    file: self.file.to_owned(),
                });
            }
            Some(Value::Str(text)) => text.split_whitespace().map(str::to_owned).collect(),
            Some(Value::List(items)) => items.iter().map(halite_output::python::str).collect(),
            Some(_) => return Err(NodegroupError::Malformed(name.to_owned())),
        };
        if is_id_list(&words) {
            return Ok(format!("L@{}", words.join(",")));
        }
        path.push(name.to_owned());
        let expanded = self.words(words.into_iter(), path);
        path.pop();
        expanded
    }

    fn words(
        &self,
        words: impl Iterator<Item = String>,
        path: &mut Vec<String>,
    ) -> Result<String, NodegroupError> {
        let expanded: Result<Vec<String>, NodegroupError> = words
            .map(|word| match word.strip_prefix(MARK) {
                Some(name) if !name.is_empty() => {
                    let inner = self.group(name, path)?;
                    let is_one = inner.split_whitespace().nth(1).is_none();
                    Ok(if is_one {
                        inner
                    } else {
                        format!("( {inner} )")
                    })
                }
                _ => Ok(word),
            })
            .collect();
        Ok(expanded?.join(" "))
    }
}

/// A group of two ids and more, without operators, patterns or other targets.
fn is_id_list(words: &[String]) -> bool {
    let is_id = |word: &String| {
        !OPERATORS.contains(&word.as_str()) && !word.contains(['*', '?', '[', '@', ','])
    };
    words.len() > 1 && words.iter().all(is_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Map {
        let list = |ids: &[&str]| Value::List(ids.iter().copied().map(Value::from).collect());
        Map::from([
            ("web", Value::from("web* and not web9")),
            ("ids", list(&["a", "b"])),
            ("one", list(&["a"])),
            ("both", "N@web or N@ids".into()),
            ("loop", "x or N@pool".into()),
            ("pool", "N@loop".into()),
            ("bad", 5.into()),
        ])
    }

    #[test]
    fn groups_are_put_in_place_of_their_names() {
        let map = groups();
        let groups = Nodegroups {
            groups: &map,
            file: "/etc/salt/master",
        };
        assert_eq!(groups.expand("web").unwrap(), "web* and not web9");
        assert_eq!(groups.expand("ids").unwrap(), "L@a,b");
        assert_eq!(groups.expand("one").unwrap(), "a");
        assert_eq!(
            groups.expand("both").unwrap(),
            "( web* and not web9 ) or L@a,b"
        );
        assert_eq!(
            groups.expand_in("G@os:x and N@one or N@web").unwrap(),
            "G@os:x and a or ( web* and not web9 )"
        );
    }

    #[test]
    fn groups_that_cannot_be_expanded_say_why() {
        let map = groups();
        let groups = Nodegroups {
            groups: &map,
            file: "/etc/salt/master",
        };
        let text = |name| groups.expand(name).unwrap_err().to_string();
        assert_eq!(
            text("none"),
            "Node group none unavailable in /etc/salt/master"
        );
        assert_eq!(text("loop"), "node group loop contains itself");
        assert_eq!(text("bad"), "node group bad is neither text nor a list");
    }
}
