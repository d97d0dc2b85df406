//! Where `jobs.*` read: the files of this master, or a returner in Python
//! (`ext_source`, `ext_job_cache`, `master_job_cache`).

use halite_proto::{Jid, Map, Value, python};
use halite_store::limits::JOBS_LISTED_MAX;
use halite_store::{JobFilter, StoredReturn};

use super::{Call, RunnerError};
use crate::jobs::job_mirror::{self, CallFailed, configured};

/// A reader of kept jobs.
pub(super) enum Source<'c> {
    /// The files.
    Files(&'c Call<'c>),
    /// A returner, by its name.
    Returner(&'c Call<'c>, String),
}

impl<'c> Source<'c> {
    /// The one that is asked for, or configured.
    pub(super) fn of(call: &'c Call<'c>) -> Self {
        let opts = &call.runners.general.opts;
        let option = opts.get("ext_job_cache").and_then(Value::as_str);
        let option = option.filter(|name| !name.is_empty());
        let asked = call.text("ext_source").or(option);
        match asked.or_else(|| configured(opts)) {
            None | Some("local_cache") => Self::Files(call),
            Some(name) => Self::Returner(call, name.to_owned()),
        }
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Files(_) => "local_cache",
            Self::Returner(_, name) => name,
        }
    }

    fn ask(
        &self,
        call: &Call<'_>,
        function: &str,
        args: Vec<Value>,
    ) -> Result<Option<Value>, RunnerError> {
        match job_mirror::call(&call.runners.functions, self.name(), function, args) {
            Ok(value) => Ok(Some(value)),
            Err(CallFailed::NoFunction(_)) if function == "get_endtime" => Ok(None),
            Err(error) => Err(RunnerError::Failed(error.to_string())),
        }
    }

    /// What was published as a job.
    pub(super) fn load(&self, jid: &Jid) -> Result<Option<Map>, RunnerError> {
        match self {
            Self::Files(call) => Ok(call.runners.jobs.cache.load(jid)?),
            Self::Returner(call, _) => {
                match self.ask(call, "get_load", vec![jid.into()])? {
                    Some(Value::Map(load)) if !load.is_empty() => Ok(Some(load)),
                    // Minions give returns to theirs, and loads only masters know.
                    _ => Ok(call.runners.jobs.cache.load(jid)?),
                }
            }
        }
    }

    /// What the minions returned.
    pub(super) fn returns(&self, jid: &Jid) -> Result<Vec<(String, StoredReturn)>, RunnerError> {
        let call = match self {
            Self::Files(call) => {
                let returns = call.runners.jobs.cache.returns(jid)?.into_iter();
                return Ok(returns
                    .map(|(id, stored)| (id.to_string(), stored))
                    .collect());
            }
            Self::Returner(call, _) => call,
        };
        let Some(Value::Map(returns)) = self.ask(call, "get_jid", vec![jid.into()])? else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for (id, data) in returns {
            let mut data = match data {
                Value::Map(data) => data,
                bare => Map::from([("return", bare)]),
            };
            let out = data.remove("out").map(|out| python::str(&out));
            all.push((python::str(&id), StoredReturn { data, out }));
        }
        Ok(all)
    }

    /// When the last return came.
    pub(super) fn endtime(&self, jid: &Jid) -> Result<Option<String>, RunnerError> {
        match self {
            Self::Files(call) => Ok(call.runners.jobs.cache.endtime(jid)?),
            Self::Returner(call, _) => {
                let endtime = self.ask(call, "get_endtime", vec![jid.into()])?;
                Ok(endtime
                    .filter(Value::is_true)
                    .map(|time| python::str(&time)))
            }
        }
    }

    /// The newest jobs that fit, at most `max` of them, newest first and without
    /// who was meant.
    pub(super) fn newest(
        &self,
        max: usize,
        mut fits: impl FnMut(&Jid, &Map) -> bool,
    ) -> Result<Vec<(Jid, Map)>, RunnerError> {
        match self {
            Self::Files(call) => {
                Ok(call
                    .runners
                    .jobs
                    .cache
                    .newest_fitting(max, &JobFilter::default(), fits)?)
            }
            Self::Returner(..) => {
                let jobs = self.all()?.into_iter().rev();
                Ok(jobs
                    .filter(|(jid, load)| fits(jid, load))
                    .take(max)
                    .collect())
            }
        }
    }

    /// Every job that is kept, oldest first, without who was meant.
    pub(super) fn all(&self) -> Result<Vec<(Jid, Map)>, RunnerError> {
        let call = match self {
            Self::Files(call) => {
                let newest = call.runners.jobs.cache.newest(JOBS_LISTED_MAX)?;
                return Ok(newest.into_iter().rev().collect());
            }
            Self::Returner(call, _) => call,
        };
        let Some(Value::Map(listed)) = self.ask(call, "get_jids", Vec::new())? else {
            return Ok(Vec::new());
        };
        let listed = listed.into_iter();
        let job = |(jid, told): (Value, Value)| {
            Some((Jid::parse(python::str(&jid)).ok()?, load_of(&told)))
        };
        let mut jobs: Vec<(Jid, Map)> = listed.filter_map(job).collect();
        jobs.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(jobs)
    }
}

/// The load of a job that is told of in Salt's words.
fn load_of(told: &Value) -> Map {
    let words = [
        ("fun", "Function"),
        ("arg", "Arguments"),
        ("tgt", "Target"),
        ("tgt_type", "Target-type"),
        ("user", "User"),
        ("metadata", "Metadata"),
    ];
    let mut load = Map::new();
    for (name, word) in words {
        if let Some(value) = told.get(word) {
            load.insert(name, value.clone());
        }
    }
    load
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_in_salts_words_is_a_load_again() {
        let told = Map::from([
            ("Function", Value::from("test.ping")),
            ("Arguments", Value::List(Vec::new())),
            ("StartTime", "2020".into()),
        ]);
        let load = load_of(&told.into());
        assert_eq!(load.get("fun"), Some(&"test.ping".into()));
        assert_eq!(load.len(), 2);
    }
}
