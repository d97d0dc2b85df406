//! Where `jobs.*` read: the job cache of this master, the place of another returner
//! that this program knows, or a returner in Python (`ext_source`, `ext_job_cache`,
//! `master_job_cache`).

use halite_proto::{Jid, Map, MinionId, Value, python};
use halite_store::{JobFilter, Jobs, StoreError, StoreOptions, StoredReturn, returner_place};

use super::{Call, RunnerError};
use crate::jobs::job_mirror::{self, CallFailed, configured};

/// A reader of kept jobs.
pub(super) enum Source<'c> {
    /// The job cache.
    Files(&'c Call<'c>),
    /// The place of a returner of ours, by its name.
    Store(&'c Call<'c>, String, Jobs),
    /// A returner, by its name.
    Returner(&'c Call<'c>, String),
}

impl<'c> Source<'c> {
    /// The one that is asked for, or configured.
    ///
    /// # Errors
    /// When the options of a returner name no place.
    pub(super) fn of(call: &'c Call<'c>) -> Result<Self, RunnerError> {
        let opts = &call.runners.general.opts;
        let option = opts.get("ext_job_cache").and_then(Value::as_str);
        let option = option.filter(|name| !name.is_empty());
        let asked = call.text("ext_source").or(option);
        match asked.or_else(|| configured(opts)) {
            None => Ok(Self::Files(call)),
            Some("local_cache") => Ok(Self::Files(call)),
            Some(name) => {
                // That of the option, with what waits for it.
                let ext = call.runners.jobs.ext().filter(|_| Some(name) == option);
                let store = match (ext, returner_place("ext_source", name, opts)?) {
                    (Some(ext), _) => ext.clone(),
                    (None, Some(place)) => halite_store::open(&StoreOptions::all(place)).jobs,
                    (None, None) => return Ok(Self::Returner(call, name.to_owned())),
                };
                Ok(Self::Store(call, name.to_owned(), store))
            }
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Files(_) => "local_cache",
            Self::Store(_, name, _) | Self::Returner(_, name) => name,
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

    /// The load of a job.
    pub(super) fn load(&self, jid: &Jid) -> Result<Option<Map>, RunnerError> {
        match self {
            Self::Files(call) => Ok(call.runners.jobs.cache.load(jid)?),
            // Minions give returns to theirs, and loads only masters know.
            Self::Store(call, _, jobs) => match jobs.load(jid)? {
                Some(load) => Ok(Some(load)),
                None => Ok(call.runners.jobs.cache.load(jid)?),
            },
            Self::Returner(call, _) => {
                match self.ask(call, "get_load", vec![jid.into()])? {
                    Some(Value::Map(load)) if !load.is_empty() => Ok(Some(load)),
                    // Minions give returns to theirs, and loads only masters know.
                    _ => Ok(call.runners.jobs.cache.load(jid)?),
                }
            }
        }
    }

    /// The returns of the minions.
    pub(super) fn returns(&self, jid: &Jid) -> Result<Vec<(String, StoredReturn)>, RunnerError> {
        let call = match self {
            Self::Files(call) => {
                let returns = call.runners.jobs.cache.returns(jid)?.into_iter();
                return Ok(returns
                    .map(|(id, stored)| (id.to_string(), stored))
                    .collect());
            }
            Self::Store(_, _, jobs) => {
                let returns = jobs.returns(jid)?.into_iter();
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
            all.push((python::str(&id), StoredReturn::new(data, out)));
        }
        Ok(all)
    }

    /// What one minion returned.
    pub(super) fn return_of(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<Option<StoredReturn>, RunnerError> {
        match self {
            Self::Files(call) => Ok(undamaged(call.runners.jobs.cache.return_of(jid, id))?),
            Self::Store(_, _, jobs) => Ok(undamaged(jobs.return_of(jid, id))?),
            // Its functions tell of all.
            Self::Returner(..) => {
                let mut all = self.returns(jid)?.into_iter();
                let own = all.find(|(of, _)| of == id.as_str());
                Ok(own.map(|(_, stored)| stored))
            }
        }
    }

    /// When the last return came.
    pub(super) fn endtime(&self, jid: &Jid) -> Result<Option<String>, RunnerError> {
        match self {
            Self::Files(call) => Ok(call.runners.jobs.cache.endtime(jid)?),
            Self::Store(_, _, jobs) => Ok(jobs.endtime(jid)?),
            Self::Returner(call, _) => {
                let endtime = self.ask(call, "get_endtime", vec![jid.into()])?;
                Ok(endtime
                    .filter(Value::is_true)
                    .map(|time| python::str(&time)))
            }
        }
    }

    /// Applies `pick` to the newest jobs, at most `max`, newest first and without their
    /// minions. The filter finds at least the jobs that `pick` accepts.
    pub(super) fn newest<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        mut pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, RunnerError> {
        match self {
            Self::Files(call) => {
                let cache = &call.runners.jobs.cache;
                Ok(cache.newest_picked(max, filter, pick)?)
            }
            Self::Store(_, _, jobs) => Ok(jobs.newest_picked(max, filter, pick)?),
            Self::Returner(..) => {
                let jobs = self.listed()?.into_iter().rev();
                Ok(jobs
                    .filter_map(|(jid, load)| pick(jid, load))
                    .take(max)
                    .collect())
            }
        }
    }

    /// Every job of a returner in Python, oldest first, without its minions.
    fn listed(&self) -> Result<Vec<(Jid, Map)>, RunnerError> {
        let Self::Returner(call, _) = self else {
            return Ok(Vec::new());
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

/// A return, nothing if it is damaged: among those of others it is left out, too.
fn undamaged(
    found: Result<Option<StoredReturn>, StoreError>,
) -> Result<Option<StoredReturn>, StoreError> {
    match found {
        Err(error @ StoreError::Damaged { .. }) => {
            tracing::warn!(%error, "skipping a damaged return");
            Ok(None)
        }
        found => found,
    }
}

/// The load of a job that is given with Salt's field names.
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
