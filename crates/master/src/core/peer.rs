//! What minions may ask of others: commands for other minions (`peer`), runners of
//! the master (`peer_run`), values of others' mines (`mine_get`).
//!
//! Invariant: without a matching entry of the configuration the answer is no.

use halite_proto::{Map, MinionId, Value};

use super::patterns::StartPattern;
use super::perms::Perm;

/// The rights that the options give to minions.
#[derive(Clone, Debug)]
pub struct Peers {
    /// `peer`.
    publish: ByMinion<Perm>,
    /// `peer_run`.
    run: ByMinion<StartPattern>,
    /// `mine_get`; `None` where it is not set: then everybody may read all.
    read: Option<ByMinion<StartPattern>>,
}

/// The entries of an option `{<regex on the id>: [<entry>, ..]}`.
#[derive(Clone, Debug)]
struct ByMinion<T>(Vec<(StartPattern, Vec<T>)>);

impl<T> ByMinion<T> {
    fn new(option: Option<&Value>, read: impl Fn(&Value) -> Option<T>) -> Self {
        let entries = option
            .and_then(Value::as_map)
            .into_iter()
            .flat_map(Map::iter);
        let entries = entries.filter_map(|(pattern, entries)| {
            let pattern = StartPattern::new(pattern.as_str()?);
            Some((
                pattern,
                entries.as_list()?.iter().filter_map(&read).collect(),
            ))
        });
        Self(entries.collect())
    }

    /// The entries that hold for the minion.
    fn entries_for(&self, id: &MinionId) -> impl Iterator<Item = &T> {
        let matching = self
            .0
            .iter()
            .filter(move |(pattern, _)| pattern.matches(id.as_str()));
        matching.flat_map(|(_, entries)| entries)
    }
}

impl Peers {
    /// Reads the options.
    pub fn from_opts(opts: &Map) -> Self {
        let pattern = |entry: &Value| entry.as_str().map(StartPattern::new);
        Self {
            publish: ByMinion::new(opts.get("peer"), |entry| Some(Perm::new(entry))),
            run: ByMinion::new(opts.get("peer_run"), pattern),
            read: match opts.get("mine_get") {
                None | Some(Value::Nil) => None,
                option => Some(ByMinion::new(option, pattern)),
            },
        }
    }

    /// The functions that the minion may publish.
    pub fn publishes(&self, id: &MinionId) -> Vec<Perm> {
        self.publish.entries_for(id).cloned().collect()
    }

    /// Whether the minion may have the master run this.
    pub fn may_run(&self, id: &MinionId, fun: &str) -> bool {
        self.run.entries_for(id).any(|pattern| pattern.matches(fun))
    }

    /// The functions of `asked` that the minion may read in mines.
    pub fn readable_in_mine(&self, id: &MinionId, asked: Vec<String>) -> Vec<String> {
        let Some(read) = &self.read else {
            return asked;
        };
        let patterns: Vec<&StartPattern> = read.entries_for(id).collect();
        let may_read = |fun: &String| patterns.iter().any(|pattern| pattern.matches(fun));
        asked.into_iter().filter(may_read).collect()
    }
}

/// Whether the functions may be published by a minion at all: one that
/// publishes again could go round in circles.
pub fn is_recursive(funs: &[&str]) -> bool {
    funs.iter().any(|fun| fun.trim().starts_with("publish."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(name: &str, option: Value) -> Peers {
        Peers::from_opts(&Map::from([(name, option)]))
    }

    fn option(pattern: &str, entry: &str) -> Value {
        Value::from(Map::from([(
            pattern,
            Value::List(vec![Value::from(entry)]),
        )]))
    }

    #[test]
    fn entries_are_found_by_the_start_of_the_id() {
        let id = MinionId::parse("web10").unwrap();
        let found = |option: Value| peers("peer", option).publishes(&id);
        assert_eq!(
            found(option("web1", "test.*")),
            [Perm::new(&"test.*".into())]
        );
        assert!(found(option("eb", "test.*")).is_empty());
        assert!(found(option("(", "test.*")).is_empty());
        assert!(found(true.into()).is_empty());
        assert!(Peers::from_opts(&Map::new()).publishes(&id).is_empty());
    }

    #[test]
    fn mine_get_set_but_not_matching_allows_nothing() {
        let id = MinionId::parse("web1").unwrap();
        let asked = || vec!["test.ping".to_owned(), "cmd.run".to_owned()];
        let readable = |option: Value| peers("mine_get", option).readable_in_mine(&id, asked());
        let not_set = Peers::from_opts(&Map::new());
        assert_eq!(not_set.readable_in_mine(&id, asked()), asked());
        assert_eq!(readable(Value::Nil), asked());
        assert_eq!(readable(option("web", "test")), ["test.ping"]);
        assert!(readable(option("db", ".*")).is_empty());
    }

    #[test]
    fn publishing_does_not_publish() {
        assert!(is_recursive(&["test.ping", " publish.publish"]));
        assert!(!is_recursive(&["test.ping"]));
    }
}
