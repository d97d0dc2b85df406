//! Resolves a target over the accepted minions, so that clients know for which
//! minions to wait.
//!
//! Invariant: this is a prediction. The minion decides for itself; the master only
//! refuses to publish to no minion.

mod known;

use std::collections::BTreeSet;
use std::time::Duration;

use halite_proto::{Map, MinionId, Value};
use halite_store::Parts;
use halite_target::{Names, Ranges, Reading, Target, TargetError, glob};

use self::known::{Data, Known, Spent};
use crate::limits::{TARGET_READ_TIME_MAX, TARGET_TIME_MAX};

/// The data that the master has about its minions.
pub trait Minions {
    /// The accepted ids, sorted.
    fn accepted(&self) -> Vec<MinionId>;

    /// The grains with these names of all these minions at once, by minion;
    /// `None` where single minions have to be asked after.
    fn grains_of(&self, _ids: &[MinionId], _names: &BTreeSet<String>) -> Option<Parts> {
        None
    }

    /// The same of their pillars.
    fn pillars_of(&self, _ids: &[MinionId], _names: &BTreeSet<String>) -> Option<Parts> {
        None
    }

    /// The grains a minion sent last.
    fn grains(&self, id: &MinionId) -> Option<Map>;

    /// The pillar that was last made for a minion.
    fn pillar(&self, id: &MinionId) -> Option<Map>;

    /// Whether grains and pillar are kept at all (`minion_data_cache`).
    fn keeps_data(&self) -> bool;

    /// The node groups of the configuration.
    fn nodegroups(&self) -> Option<&Map>;

    /// The processor time of this thread so far, used to stop a target that costs too
    /// much.
    fn processor_time(&self) -> Duration;

    /// How much of it may go into reading what is known of the minions.
    fn read_time_max(&self) -> Duration {
        TARGET_READ_TIME_MAX
    }
}

/// A target as given in a request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The target.
    pub tgt: &'a Value,
    /// How it is to be read.
    pub tgt_type: &'a str,
    /// What separates the parts of a grain or pillar target.
    pub delimiter: &'a str,
    /// Whether a target about data also matches minions without cached data. Never set
    /// where the match is a right.
    pub with_unknown: bool,
    /// The server that resolves ranges. Never set for a minion's target: only those who
    /// may command can make the master wait for a server.
    pub ranges: Option<&'a dyn Ranges>,
}

/// Whom a target means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Accepted minions, sorted.
    pub minions: Vec<MinionId>,
    /// Ids that are named one by one and not accepted.
    pub missing: Vec<String>,
    /// Whether grains or pillar decide: then the minions may know better.
    pub by_data: bool,
}

/// Resolves a target.
///
/// # Errors
/// When the target cannot be understood, or takes more than `TARGET_TIME_MAX`, or what
/// is known of the minions more than `TARGET_READ_TIME_MAX` to read.
pub fn resolve(asked: Asked<'_>, minions: &dyn Minions) -> Result<Resolved, TargetError> {
    let spent = Spent::new(minions);
    let mut accepted = spent.reading(|| minions.accepted());
    if let ("glob", Value::Str(globs)) = (asked.tgt_type, asked.tgt) {
        retain_by_globs(globs, &mut accepted);
        return Ok(Resolved {
            minions: accepted,
            ..Resolved::default()
        });
    }
    let reading = Reading {
        delimiter: asked.delimiter,
        nodegroups: minions.nodegroups(),
        ranges: asked.ranges,
    };
    let target = Target::parse_with(asked.tgt, asked.tgt_type, &reading)?;
    let by_data = target.needs_data();
    let named = target.named_ids().into_iter();
    let missing = named
        .filter(|id| {
            accepted
                .binary_search_by(|known| known.as_str().cmp(id))
                .is_err()
        })
        .map(str::to_owned)
        .collect();
    // Without data, everybody might be meant by it.
    if minions.keeps_data() || !by_data {
        let wanted = target.data_needed();
        let grains = match &wanted.grains {
            Names::These(names) => spent.reading(|| minions.grains_of(&accepted, names)),
            Names::None | Names::All => None,
        };
        let pillars = match &wanted.pillar {
            Names::These(names) => spent.reading(|| minions.pillars_of(&accepted, names)),
            Names::None | Names::All => None,
        };
        let data = Data {
            spent: &spent,
            grains,
            pillars,
            with_unknown: asked.with_unknown,
        };
        accepted.retain(|id| !spent.is_too_much() && target.matches(&Known::new(id, &data)));
        if spent.is_too_much() {
            let read_max = minions.read_time_max();
            let message = format!(
                "matching it takes more than {TARGET_TIME_MAX:?}, or reading the data of the \
                 minions more than {read_max:?}"
            );
            return Err(TargetError::new(0, message));
        }
    }
    Ok(Resolved {
        minions: accepted,
        missing,
        by_data,
    })
}

/// Commas separate several globs here, other than on minions.
fn retain_by_globs(globs: &str, accepted: &mut Vec<MinionId>) {
    accepted.retain(|id| {
        globs
            .split(',')
            .any(|pattern| glob::fnmatch(pattern, id.as_str()))
    });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Fleet {
        keeps_data: bool,
        groups: Map,
        /// What each look at the clock costs.
        pace: Duration,
        /// Time to read the grains of a minion.
        read: Duration,
        spent: Cell<Duration>,
    }

    impl Minions for Fleet {
        fn accepted(&self) -> Vec<MinionId> {
            ["db1", "web1", "web2"]
                .map(|id| MinionId::parse(id).unwrap())
                .to_vec()
        }

        fn grains(&self, id: &MinionId) -> Option<Map> {
            self.spent.set(self.spent.get() + self.read);
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

        fn processor_time(&self) -> Duration {
            self.spent.set(self.spent.get() + self.pace);
            self.spent.get()
        }

        fn nodegroups(&self) -> Option<&Map> {
            Some(&self.groups)
        }
    }

    fn fleet(keeps_data: bool) -> Fleet {
        Fleet {
            keeps_data,
            groups: Map::from([("all_web", "web*")]),
            pace: Duration::ZERO,
            read: Duration::ZERO,
            spent: Cell::default(),
        }
    }

    #[track_caller]
    fn check(tgt: impl Into<Value>, tgt_type: &str, minions: &[&str], missing: &[&str]) {
        let resolved = resolve(
            Asked {
                tgt: &tgt.into(),
                tgt_type,
                delimiter: ":",
                with_unknown: false,
                ranges: None,
            },
            &fleet(true),
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
        check(
            "L@web1,gone and not G@os:Alpine",
            "compound",
            &["web1"],
            &["gone"],
        );
        check("all_web", "nodegroup", &["web1", "web2"], &[]);
        check("N@all_web and not web2", "compound", &["web1"], &[]);
    }

    #[test]
    fn without_a_data_cache_everybody_might_be_meant() {
        let resolved = resolve(
            Asked {
                tgt: &"os:Debian".into(),
                tgt_type: "grain",
                delimiter: ":",
                with_unknown: false,
                ranges: None,
            },
            &fleet(false),
        )
        .unwrap();
        assert_eq!(resolved.minions.len(), 3);
    }

    #[test]
    fn minions_without_data_are_meant_where_that_is_asked_for() {
        let meant = |tgt: &str| {
            let asked = Asked {
                tgt: &tgt.into(),
                tgt_type: "compound",
                delimiter: ":",
                with_unknown: true,
                ranges: None,
            };
            let resolved = resolve(asked, &fleet(true)).unwrap();
            let ids = resolved.minions.iter().map(|id| id.as_str().to_owned());
            ids.collect::<Vec<String>>()
        };
        // Nothing is kept of web2.
        assert_eq!(meant("G@os:Debian"), ["web1", "web2"]);
        assert_eq!(meant("I@role:db"), ["db1", "web1", "web2"]);
        assert_eq!(meant("not G@os:Debian"), ["db1"]);
        assert_eq!(meant("S@192.0.2.1 and web*"), ["web2"]);
    }

    #[test]
    fn a_target_that_costs_too_much_means_nobody() {
        let tgt = "E@web.*".into();
        let asked = Asked {
            tgt: &tgt,
            tgt_type: "compound",
            delimiter: ":",
            with_unknown: false,
            ranges: None,
        };
        // The clock is looked at when it begins, before and after reading the ids, for
        // each of three, at the end.
        for (pace, is_told) in [(TARGET_TIME_MAX / 5, true), (TARGET_TIME_MAX / 4, false)] {
            let fleet = Fleet {
                pace,
                ..fleet(true)
            };
            assert_eq!(resolve(asked, &fleet).is_ok(), is_told, "{pace:?}");
        }
    }

    #[test]
    fn what_must_be_read_of_the_minions_is_not_the_fault_of_the_target() {
        let tgt = "G@os:Debian".into();
        let asked = Asked {
            tgt: &tgt,
            tgt_type: "compound",
            delimiter: ":",
            with_unknown: false,
            ranges: None,
        };
        for (read, is_told) in [
            (TARGET_TIME_MAX * 2, true),
            (TARGET_READ_TIME_MAX / 2, false),
        ] {
            let fleet = Fleet {
                read,
                ..fleet(true)
            };
            assert_eq!(resolve(asked, &fleet).is_ok(), is_told, "{read:?}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        let asked = |tgt_type| Asked {
            tgt: &Value::Nil,
            tgt_type,
            delimiter: ":",
            with_unknown: false,
            ranges: None,
        };
        assert!(resolve(asked("no such type"), &fleet(true)).is_err());
    }
}
