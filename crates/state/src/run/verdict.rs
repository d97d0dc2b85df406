//! The decision of a state's requisites: run it, skip it, or wait.
//!
//! Salt 3008.5, `State._check_requisites`. Pure: results in, verdict out.

use halite_proto::{Map, Value};

use super::record;
use crate::requisite::Requisite;

/// What is to be done with a state whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Something it depends on has not run.
    Unmet,
    /// Something it depends on still runs beside.
    Pending,
    /// Something it requires failed.
    Fail,
    /// What would make it run says that it should not.
    SkipRequisite,
    /// What it watches changed, and says that nobody should react.
    SkipWatch,
    /// The states it comes before would not change.
    NothingAhead,
    /// What it waits for to fail did not.
    Onfail,
    /// What it waits for to change did not.
    Onchanges,
    /// Run it, and let it react to changes.
    Change,
    /// Run it.
    Met,
}

/// What the dependencies of one kind, or of all, have said.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    unmet: bool,
    pending: bool,
    fail: bool,
    skip: bool,
    onfail: bool,
    onchanges: bool,
    onchanges_met: bool,
    change: bool,
    ahead: bool,
    nothing_ahead: bool,
    met: bool,
}

/// The requisites of one kind: the results of what it names. `None` where
/// there is none yet; a pending one still runs.
pub(super) struct Answers<'r> {
    pub(super) kind: Requisite,
    pub(super) results: Vec<Answer<'r>>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(super) enum Answer<'r> {
    None,
    Pending,
    Result(&'r Map),
}

/// The verdict on a state with these requisites.
pub(super) fn verdict(all: &[Answers<'_>]) -> Verdict {
    let mut said = Said::default();
    for answers in all {
        said.add(of_kind(answers));
    }
    if said.unmet {
        Verdict::Unmet
    } else if said.pending {
        Verdict::Pending
    } else if said.fail {
        Verdict::Fail
    } else if said.skip && (said.onchanges_met || said.ahead) {
        Verdict::SkipRequisite
    } else if said.skip && said.change {
        Verdict::SkipWatch
    } else if said.nothing_ahead {
        if said.ahead {
            Verdict::Met
        } else {
            Verdict::NothingAhead
        }
    } else if said.onfail && !said.onchanges_met {
        Verdict::Onfail
    } else if said.onchanges && !said.onchanges_met {
        Verdict::Onchanges
    } else if said.change {
        Verdict::Change
    } else if said.onfail {
        Verdict::Onfail
    } else {
        Verdict::Met
    }
}

fn of_kind(answers: &Answers<'_>) -> Said {
    let kind = answers.kind;
    let mut said = Said::default();
    for answer in &answers.results {
        match answer {
            Answer::None => said.unmet = true,
            Answer::Pending => said.pending = true,
            Answer::Result(result) => said.hear(kind, result),
        }
    }
    let any = matches!(
        kind,
        Requisite::Onfail
            | Requisite::OnfailAny
            | Requisite::RequireAny
            | Requisite::OnchangesAny
            | Requisite::WatchAny
    );
    if any {
        if said.met || said.change || said.onchanges_met {
            said.fail = false;
        }
        if said.onchanges_met {
            said.onchanges = false;
        }
        // What it waits for failed: one is enough.
        if said.met {
            said.onfail = false;
        }
    }
    if kind == Requisite::OnfailAll && said.onfail {
        said.met = false;
    }
    said
}

impl Said {
    fn hear(&mut self, kind: Requisite, result: &Map) {
        self.skip |= record::says(result, "skip_req");
        match kind {
            Requisite::Onfail | Requisite::OnfailAny | Requisite::OnfailAll
                if result.get("result") == Some(&Value::Bool(true)) =>
            {
                self.onfail = true;
                return;
            }
            Requisite::Onfail | Requisite::OnfailAny | Requisite::OnfailAll => {}
            Requisite::Onchanges | Requisite::OnchangesAny => {
                if record::failed(result) || !record::changed(result) {
                    self.onchanges = true;
                } else {
                    self.onchanges_met = true;
                }
                return;
            }
            _ if record::failed(result) => {
                self.fail = true;
                return;
            }
            Requisite::Watch | Requisite::WatchAny if record::changed(result) => {
                self.change = true;
                return;
            }
            Requisite::Prereq => {
                if result.get("result").is_none_or(Value::is_nil) {
                    self.ahead = true;
                } else {
                    self.nothing_ahead = true;
                }
                return;
            }
            _ => {}
        }
        self.met |= result.get("__state_ran__").is_none_or(Value::is_true);
    }

    fn add(&mut self, other: Self) {
        self.unmet |= other.unmet;
        self.pending |= other.pending;
        self.fail |= other.fail;
        self.skip |= other.skip;
        self.onfail |= other.onfail;
        self.onchanges |= other.onchanges;
        self.onchanges_met |= other.onchanges_met;
        self.change |= other.change;
        self.ahead |= other.ahead;
        self.nothing_ahead |= other.nothing_ahead;
        self.met |= other.met;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok() -> Map {
        Map::from([
            ("result", Value::Bool(true)),
            ("changes", Map::new().into()),
        ])
    }

    fn with(key: &str, value: impl Into<Value>) -> Map {
        let mut map = ok();
        map.insert(key, value);
        map
    }

    fn check(kind: Requisite, results: &[Map], expect: Verdict) {
        let results = results.iter().map(Answer::Result).collect();
        assert_eq!(verdict(&[Answers { kind, results }]), expect, "{kind:?}");
    }

    #[test]
    fn each_kind_looks_at_what_concerns_it() {
        let failed = with("result", false);
        let changed = with("changes", Map::from([("a", 1)]));
        let would = with("result", Value::Nil);
        let skipped = with("__state_ran__", false);
        check(Requisite::Require, &[ok(), would.clone()], Verdict::Met);
        check(Requisite::Require, &[ok(), failed.clone()], Verdict::Fail);
        check(Requisite::RequireAny, &[ok(), failed.clone()], Verdict::Met);
        check(
            Requisite::RequireAny,
            &[skipped, failed.clone()],
            Verdict::Fail,
        );
        check(Requisite::Watch, &[ok(), changed.clone()], Verdict::Change);
        check(Requisite::Watch, &[ok()], Verdict::Met);
        check(
            Requisite::Onchanges,
            &[ok(), failed.clone()],
            Verdict::Onchanges,
        );
        check(Requisite::Onchanges, &[ok(), changed.clone()], Verdict::Met);
        check(Requisite::Onfail, &[ok()], Verdict::Onfail);
        check(Requisite::Onfail, &[ok(), failed.clone()], Verdict::Met);
        check(
            Requisite::OnfailAll,
            &[ok(), failed.clone()],
            Verdict::Onfail,
        );
        check(Requisite::OnfailAll, &[failed], Verdict::Met);
        check(Requisite::Prereq, &[would], Verdict::Met);
        check(Requisite::Prereq, &[ok()], Verdict::NothingAhead);
        let mut quiet = changed;
        quiet.insert("skip_req", true);
        check(Requisite::Watch, &[quiet.clone()], Verdict::SkipWatch);
        check(Requisite::Onchanges, &[quiet], Verdict::SkipRequisite);
    }

    #[test]
    fn what_has_not_run_comes_first() {
        let failed = with("result", false);
        let results = vec![Answer::Result(&failed), Answer::None, Answer::Pending];
        let kind = Requisite::Require;
        assert_eq!(verdict(&[Answers { kind, results }]), Verdict::Unmet);
        assert_eq!(verdict(&[]), Verdict::Met);
    }
}
