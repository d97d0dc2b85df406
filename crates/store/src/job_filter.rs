//! The filter of a search for jobs.

use halite_proto::{Jid, Map, Value, python};
use halite_target::glob::fnmatch;

/// The conditions of a search for jobs; empty ones match all. A backend evaluates them
/// itself where it can, and otherwise filters the jobs it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Globs, of which one fits a function of the job.
    pub functions: Vec<String>,
    /// A function that it is not.
    pub not_function: Option<String>,
    /// Globs, of which one fits what the job was targeted at.
    pub targets: Vec<String>,
    /// The user who published it.
    pub user: Option<String>,
    /// The first digits of the first id that fits.
    pub since: Option<String>,
    /// The digits that no id that fits comes after.
    pub until: Option<String>,
}

impl JobFilter {
    /// The same, as far as ids alone tell.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn of_times(&self) -> Self {
        Self {
            since: self.since.clone(),
            until: self.until.clone(),
            ..Self::default()
        }
    }

    /// Whether it asks for more than ids tell.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn is_of_loads(&self) -> bool {
        *self != self.of_times()
    }

    /// Whether the id is from the time that is asked for.
    pub(crate) fn fits_time(&self, jid: &Jid) -> bool {
        let jid = jid.as_str();
        self.since.as_deref().is_none_or(|since| jid >= since)
            && self.until.as_deref().is_none_or(|until| jid <= until)
    }

    /// Whether what was published is what is asked for.
    pub(crate) fn fits_load(&self, load: &Map) -> bool {
        let texts = |name: &str| texts(load.get(name));
        let fits = |globs: &[String], name| globs.is_empty() || fits_globs(globs, &texts(name));
        fits(&self.functions, "fun")
            && fits(&self.targets, "tgt")
            && self
                .user
                .as_ref()
                .is_none_or(|user| texts("user").contains(user))
            && self
                .not_function
                .as_ref()
                .is_none_or(|not| texts("fun") != [not.as_str()])
    }
}

fn fits_globs(globs: &[String], texts: &[String]) -> bool {
    let fits = |text: &String| globs.iter().any(|glob| fnmatch(glob, text));
    texts.iter().any(fits)
}

/// Each text of a value: that of a list's items, or its own.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        None => Vec::new(),
        Some(Value::List(items)) => items.iter().map(python::str).collect(),
        Some(value) => vec![python::str(value)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_must_fit() {
        let load = Map::from([
            ("fun", Value::from("state.apply")),
            ("tgt", Value::List(vec!["web1".into(), "web2".into()])),
            ("user", "alice".into()),
        ]);
        let fits = |change: fn(&mut JobFilter)| {
            let mut filter = JobFilter::default();
            change(&mut filter);
            filter.fits_load(&load)
        };
        assert!(fits(|_| ()));
        assert!(fits(
            |filter| filter.functions = vec!["x".into(), "state.*".into()]
        ));
        assert!(!fits(|filter| filter.functions = vec!["test.*".into()]));
        assert!(fits(|filter| filter.targets = vec!["*2".into()]));
        assert!(!fits(|filter| filter.targets = vec!["db*".into()]));
        assert!(!fits(|filter| filter.user = Some("bob".into())));
        assert!(!fits(
            |filter| filter.not_function = Some("state.apply".into())
        ));
    }

    #[test]
    fn times_are_the_first_digits_of_ids() {
        let jid = Jid::parse("20260102030405000000").unwrap();
        let fits = |since: &str, until: &str| {
            let filter = JobFilter {
                since: Some(since.to_owned()),
                until: Some(until.to_owned()),
                ..JobFilter::default()
            };
            filter.fits_time(&jid)
        };
        assert!(fits("20260102", "20260103"));
        assert!(!fits("20260103", "20260104"));
        assert!(!fits("2025", "20260102"));
    }
}
