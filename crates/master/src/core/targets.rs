//! Who is meant: resolves a target over the accepted minions, so that clients
//! know whom to wait for.
//!
//! Invariant: this is a prediction. The minion decides for itself; the master
//! only refuses to publish to nobody.

use std::cell::OnceCell;

use super::target_stub::{Subject, Target};
use halite_proto::{Map, MinionId, Value};
use halite_target::{TargetError, glob, list};

/// What the master knows of its minions.
pub trait Minions {
    /// The accepted ids, sorted.
    fn accepted(&self) -> Vec<MinionId>;

    /// The grains a minion sent last.
    fn grains(&self, id: &MinionId) -> Option<Map>;

    /// The pillar that was last made for a minion.
    fn pillar(&self, id: &MinionId) -> Option<Map>;

    /// Whether grains and pillar are kept at all (`minion_data_cache`).
    fn keeps_data(&self) -> bool;
}

/// A target as it is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The target.
    pub tgt: &'a Value,
    /// How it is to be read.
    pub tgt_type: &'a str,
    /// What separates the parts of a grain or pillar target.
    pub delimiter: &'a str,
}

impl Asked<'_> {
    /// Whether ids alone decide, so that the prediction is exact.
    pub fn is_by_id(&self) -> bool {
        matches!(self.tgt_type, "glob" | "pcre" | "list")
    }
}

/// Whom a target means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Accepted minions, sorted.
    pub minions: Vec<MinionId>,
    /// Listed ids that are not accepted.
    pub missing: Vec<String>,
}

/// Resolves a target.
///
/// # Errors
/// When the target cannot be understood.
pub fn resolve(asked: Asked<'_>, minions: &dyn Minions) -> Result<Resolved, TargetError> {
    let accepted = minions.accepted();
    match (asked.tgt_type, asked.tgt) {
        ("glob", Value::Str(globs)) => Ok(by_globs(globs, accepted)),
        ("list", ids) => Ok(by_list(ids, &accepted)),
        _ => by_target(asked, accepted, minions),
    }
}

/// Commas separate several globs here, other than on minions.
fn by_globs(globs: &str, mut accepted: Vec<MinionId>) -> Resolved {
    accepted.retain(|id| {
        globs
            .split(',')
            .any(|pattern| glob::fnmatch(pattern, id.as_str()))
    });
    Resolved {
        minions: accepted,
        missing: Vec::new(),
    }
}

fn by_list(ids: &Value, accepted: &[MinionId]) -> Resolved {
    let mut resolved = Resolved::default();
    for id in list::ids(ids) {
        match accepted.binary_search_by(|known| known.as_str().cmp(id)) {
            Ok(at) => resolved.minions.push(accepted[at].clone()),
            Err(_) => resolved.missing.push(id.to_owned()),
        }
    }
    resolved.minions.sort_unstable();
    resolved.minions.dedup();
    resolved
}

fn by_target(
    asked: Asked<'_>,
    mut accepted: Vec<MinionId>,
    minions: &dyn Minions,
) -> Result<Resolved, TargetError> {
    let target = Target::parse(asked.tgt, asked.tgt_type, asked.delimiter)?;
    if minions.keeps_data() || asked.is_by_id() {
        accepted.retain(|id| target.matches(&Known::new(id, minions)));
    }
    Ok(Resolved {
        minions: accepted,
        missing: Vec::new(),
    })
}

/// A minion with what is known of it, read when the target asks for it.
struct Known<'a> {
    id: &'a MinionId,
    minions: &'a dyn Minions,
    grains: OnceCell<Option<Map>>,
    pillar: OnceCell<Option<Map>>,
}

impl<'a> Known<'a> {
    fn new(id: &'a MinionId, minions: &'a dyn Minions) -> Self {
        Self {
            id,
            minions,
            grains: OnceCell::new(),
            pillar: OnceCell::new(),
        }
    }
}

impl Subject for Known<'_> {
    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn grains(&self) -> Option<&Map> {
        self.grains
            .get_or_init(|| self.minions.grains(self.id))
            .as_ref()
    }

    fn pillar(&self) -> Option<&Map> {
        self.pillar
            .get_or_init(|| self.minions.pillar(self.id))
            .as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fleet {
        keeps_data: bool,
    }

    impl Minions for Fleet {
        fn accepted(&self) -> Vec<MinionId> {
            ["db1", "web1", "web2"]
                .map(|id| MinionId::parse(id).unwrap())
                .to_vec()
        }

        fn grains(&self, id: &MinionId) -> Option<Map> {
            let os = match id.as_str() {
                "web1" => "Debian",
                "db1" => "Alpine",
                _ => return None,
            };
            Some(Map::from([("os", os)]))
        }

        fn pillar(&self, _: &MinionId) -> Option<Map> {
            None
        }

        fn keeps_data(&self) -> bool {
            self.keeps_data
        }
    }

    #[track_caller]
    fn check(tgt: impl Into<Value>, tgt_type: &str, minions: &[&str], missing: &[&str]) {
        let resolved = resolve(
            Asked {
                tgt: &tgt.into(),
                tgt_type,
                delimiter: ":",
            },
            &Fleet { keeps_data: true },
        )
        .unwrap();
        let ids: Vec<_> = resolved.minions.iter().map(MinionId::as_str).collect();
        assert_eq!(ids, minions);
        assert_eq!(resolved.missing, missing);
    }

    #[test]
    fn ids_are_matched_by_glob_list_and_pattern() {
        check("*", "glob", &["db1", "web1", "web2"], &[]);
        check("web*,db1", "glob", &["db1", "web1", "web2"], &[]);
        check("w?b1", "glob", &["web1"], &[]);
        check("nobody", "glob", &[], &[]);
        check("web", "pcre", &["web1", "web2"], &[]);
        check("eb", "pcre", &[], &[]);
        check("web2,gone,db1,web2", "list", &["db1", "web2"], &["gone"]);
        let ids = Value::List(vec!["web1".into(), "../x".into()]);
        check(ids, "list", &["web1"], &["../x"]);
    }

    #[test]
    fn grains_come_from_the_cache_and_unknown_ones_do_not_match() {
        check("os:Debian", "grain", &["web1"], &[]);
        check("os:*", "grain", &["db1", "web1"], &[]);
        check("G@os:Alpine or web2", "compound", &["db1", "web2"], &[]);
    }

    #[test]
    fn without_a_data_cache_everybody_might_be_meant() {
        let resolved = resolve(
            Asked {
                tgt: &"os:Debian".into(),
                tgt_type: "grain",
                delimiter: ":",
            },
            &Fleet { keeps_data: false },
        )
        .unwrap();
        assert_eq!(resolved.minions.len(), 3);
    }

    #[test]
    fn nonsense_is_an_error() {
        let asked = |tgt_type| Asked {
            tgt: &Value::Nil,
            tgt_type,
            delimiter: ":",
        };
        let fleet = Fleet { keeps_data: true };
        assert!(resolve(asked("no such type"), &fleet).is_err());
    }
}
