//! Replaces the names of node groups by their definitions before a command is sent,
//! because minions know only their own groups.

use halite_proto::Map;
use halite_target::{TargetError, nodegroup};
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
    /// The group, or one in it, cannot be written out.
    #[error(transparent)]
    Group(#[from] TargetError),
    /// A group within an expression cannot be written out.
    #[error("{}", source.render(expression))]
    Within {
        /// The expression.
        expression: String,
        /// What is wrong, and where.
        source: TargetError,
    },
}

/// The groups of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct Nodegroups<'a> {
    /// The groups by name.
    pub groups: &'a Map,
    /// The file they are in.
    pub file: &'a str,
}

const MARK: &str = "N@";

impl Nodegroups<'_> {
    /// The compound expression that a group stands for.
    ///
    /// # Errors
    /// When it, or a group in it, cannot be found or read.
    pub fn expand(&self, name: &str) -> Result<String, NodegroupError> {
        self.check_known(name)?;
        Ok(nodegroup::expand(name, self.groups)?.join(" "))
    }

    /// A compound expression with the groups in it expanded.
    ///
    /// # Errors
    /// When one of them cannot be found or read.
    pub fn expand_in(&self, expression: &str) -> Result<String, NodegroupError> {
        let words = expression.split_whitespace();
        for name in words.filter_map(|word| word.strip_prefix(MARK)) {
            if !name.is_empty() {
                self.check_known(name)?;
            }
        }
        nodegroup::expand_all(expression, self.groups).map_err(|source| NodegroupError::Within {
            expression: expression.to_owned(),
            source,
        })
    }

    fn check_known(&self, name: &str) -> Result<(), NodegroupError> {
        match self.groups.get(name) {
            Some(_) => Ok(()),
            None => Err(NodegroupError::Unknown {
                name: name.to_owned(),
                file: self.file.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::Value;

    use super::*;

    fn groups() -> Map {
        let list = |ids: &[&str]| Value::List(ids.iter().copied().map(Value::from).collect());
        Map::from([
            ("web", Value::from("web* and not web9")),
            ("ids", list(&["a", "b"])),
            ("commas", "a,b".into()),
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
        assert_eq!(groups.expand("commas").unwrap(), "L@a,b");
        assert_eq!(groups.expand("one").unwrap(), "L@a");
        assert_eq!(
            groups.expand("both").unwrap(),
            "( ( web* and not web9 ) or L@a,b )"
        );
        assert_eq!(
            groups.expand_in("G@os:x and N@one or N@web").unwrap(),
            "G@os:x and L@a or ( web* and not web9 )"
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
        assert_eq!(
            text("loop"),
            "the node group \"loop\" is part of itself, by way of loop, pool"
        );
        assert!(
            text("bad").ends_with("not text or a list"),
            "{}",
            text("bad")
        );
        let within = groups.expand_in("x or N@loop").unwrap_err().to_string();
        assert!(within.ends_with("\n  x or N@loop\n         ^"), "{within}");
        let within = groups.expand_in("x or N@none").unwrap_err().to_string();
        assert_eq!(within, "Node group none unavailable in /etc/salt/master");
    }
}
