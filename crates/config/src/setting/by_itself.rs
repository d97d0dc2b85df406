//! The automatic work of a daemon: the jobs of its schedule, and its reactions to
//! events. Invalid ones are refused with their place, because a job or reaction
//! that is silently missing does harm.

use halite_proto::{Map, Value};
use halite_yaml::{Node, NodeKind};

use super::Setting;

/// `reactor`: which files an event calls for, by its tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reactions(pub Vec<Rule>);

/// Files that events call for whose tag fits a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The glob.
    pub tag: String,
    /// The files, in their order.
    pub files: Vec<String>,
}

/// `schedule`: jobs with their times, and what holds for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Map);

impl Setting for Reactions {
    const ALLOWED: &'static str = "a list of maps from tags of events to lists of files";

    fn read(node: &Node) -> Option<Self> {
        let items = match &node.value {
            NodeKind::List(items) => items.as_slice(),
            NodeKind::Map(entries) if entries.is_empty() => &[],
            _ => return node.as_scalar()?.is_nil().then(Self::default),
        };
        let mut rules = Vec::new();
        for item in items {
            for (tag, files) in entries_of(item)? {
                rules.push(Rule {
                    tag: tag.as_str()?.to_owned(),
                    files: files_of(files)?,
                });
            }
        }
        Some(Self(rules))
    }

    fn to_value(&self) -> Value {
        let rules = self.0.iter().map(|Rule { tag, files }| {
            let files = files.iter().map(|file| Value::from(file.as_str()));
            Map::from([(tag.as_str(), Value::List(files.collect()))]).into()
        });
        Value::List(rules.collect())
    }

    /// The malformed item, tag or file.
    fn fault(node: &Node) -> &Node {
        for item in node.as_list().unwrap_or_default() {
            let Some(entries) = entries_of(item) else {
                return item;
            };
            for (tag, files) in entries {
                if tag.as_str().is_none() {
                    return tag;
                }
                if files_of(files).is_none() {
                    let files_given = files.as_list().unwrap_or_default();
                    let none = files_given.iter().find(|file| file.as_str().is_none());
                    return none.unwrap_or(files);
                }
            }
        }
        node
    }
}

fn entries_of(item: &Node) -> Option<&[(Node, Node)]> {
    match &item.value {
        NodeKind::Map(entries) => Some(entries),
        _ => None,
    }
}

fn files_of(files: &Node) -> Option<Vec<String>> {
    match &files.value {
        NodeKind::Scalar(Value::Nil) => Some(Vec::new()),
        NodeKind::Scalar(Value::Str(file)) => Some(vec![file.clone()]),
        NodeKind::List(files) => files
            .iter()
            .map(|file| file.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

impl Setting for Schedule {
    const ALLOWED: &'static str = "a map from names of jobs to what they run and when";

    fn read(node: &Node) -> Option<Self> {
        match node.to_value() {
            Value::Nil => Some(Self::default()),
            Value::Map(map) => map.iter().all(is_job).then_some(Self(map)),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        self.0.clone().into()
    }

    /// The malformed job.
    fn fault(node: &Node) -> &Node {
        let entries = entries_of(node).unwrap_or_default();
        let none = entries
            .iter()
            .find(|(name, job)| !is_job((&name.to_value(), &job.to_value())));
        none.map_or(node, |(name, _)| name)
    }
}

/// Names in a schedule that are settings of all jobs.
const OF_ALL_JOBS: [&str; 4] = ["enabled", "skip_function", "skip_during_range", "splay"];

fn is_job((name, job): (&Value, &Value)) -> bool {
    match name.as_str() {
        Some(name) => OF_ALL_JOBS.contains(&name) || job.as_map().is_some(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node {
        halite_yaml::load(text, "test").unwrap()
    }

    fn line<S: Setting>(text: &str) -> Option<usize> {
        let node = node(text);
        S::read(&node)
            .is_none()
            .then(|| S::fault(&node).span.line as usize)
    }

    #[test]
    fn reactions_are_read_in_all_forms() {
        let text = "- 'salt/*/start': [/a.sls, /b.sls]\n- my/tag: /b.sls\n- none: []\n";
        let Reactions(rules) = Reactions::read(&node(text)).unwrap();
        let files: Vec<_> = rules.iter().map(|rule| rule.files.len()).collect();
        assert_eq!(
            (rules[0].tag.as_str(), files),
            ("salt/*/start", vec![2, 1, 0])
        );
        assert_eq!(Reactions::read(&node("{}")), Some(Reactions::default()));
        assert_eq!(Reactions::read(&node("")), Some(Reactions::default()));
    }

    #[test]
    fn what_is_no_reaction_is_refused_where_it_stands() {
        assert_eq!(line::<Reactions>("my/tag: /a.sls\n"), Some(1));
        assert_eq!(line::<Reactions>("- a: [/x]\n- b\n"), Some(2));
        assert_eq!(
            line::<Reactions>("- a: [/x]\n- b:\n  - /x\n  - 5\n"),
            Some(4)
        );
        assert_eq!(line::<Reactions>("- a: [/x]\n  5: [/x]\n"), Some(2));
        assert_eq!(line::<Reactions>("- a: [/x]\n"), None);
    }

    #[test]
    fn what_is_no_job_is_refused_where_it_stands() {
        assert_eq!(
            line::<Schedule>("enabled: false\nsplay: 5\na: {seconds: 5}\n"),
            None
        );
        assert_eq!(line::<Schedule>("a: {seconds: 5}\nb: 5\n"), Some(2));
        assert_eq!(
            line::<Schedule>("a: {seconds: 5}\noff: {seconds: 5}\n"),
            Some(2)
        );
        assert_eq!(line::<Schedule>("- a\n"), Some(1));
    }
}
