//! Results that a syndic collected from the minions below it.

use crate::fields::{Fields, MessageError, Put};
use crate::{Jid, Map, Value};

const JOB: &str = "the syndic's return";

/// Results of some jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyndicReturn {
    /// One for each job; malformed ones are left out.
    pub jobs: Vec<SyndicJob>,
}

/// Results of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyndicJob {
    /// The syndic, as it says.
    pub id: Option<String>,
    /// The job.
    pub jid: Jid,
    /// What ran.
    pub fun: Value,
    /// Its arguments.
    pub arg: Value,
    /// Who was meant.
    pub tgt: Value,
    /// How `tgt` was meant.
    pub tgt_type: Value,
    /// The job as the lower master stored it; once per job.
    pub load: Option<Map>,
    /// The results: minion to a map of `return`, `retcode`, `success` and so on.
    pub returns: Map,
    /// The master that the job came from first.
    pub master_id: Option<String>,
    /// Everything else.
    pub extra: Map,
}

impl SyndicReturn {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        const JOB_FIELDS: [&str; 7] = [
            "jid",
            "fun",
            "arg",
            "tgt",
            "tgt_type",
            "return",
            "master_id",
        ];
        let jobs = match fields.take("load") {
            Some(Value::List(jobs)) => jobs,
            // Older syndics: the request itself is the job.
            load => {
                let mut job = Map::with_capacity(JOB_FIELDS.len() + 1);
                for field in JOB_FIELDS {
                    job.put_some(field, fields.take(field));
                }
                job.put_some("load", load);
                return Ok(Self {
                    jobs: vec![SyndicJob::from_map(job)?],
                });
            }
        };
        let jobs = jobs.into_iter().filter_map(|job| match job {
            Value::Map(job) => SyndicJob::from_map(job).ok(),
            _ => None,
        });
        Ok(Self {
            jobs: jobs.collect(),
        })
    }

    pub(super) fn put(&self, map: &mut Map) {
        map.put("cmd", "_syndic_return");
        let jobs = self.jobs.iter().map(|job| Value::Map(job.to_map()));
        map.put("load", jobs.collect::<Vec<_>>());
    }
}

impl SyndicJob {
    /// The results in an unpacked map.
    ///
    /// # Errors
    /// When the job or the results are missing or no such thing.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(JOB, map);
        fields.take("cmd");
        Ok(Self {
            id: fields.text("id")?,
            jid: fields.need("jid", Fields::name)?,
            fun: fields.take("fun").unwrap_or_default(),
            arg: fields.take("arg").unwrap_or_default(),
            tgt: fields.take("tgt").unwrap_or_default(),
            tgt_type: fields.take("tgt_type").unwrap_or_default(),
            load: fields.map("load")?,
            returns: fields.need("return", Fields::map)?,
            master_id: fields.text("master_id")?,
            extra: fields.rest(),
        })
    }

    /// The results as they travel, in Salt's order.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(10 + self.extra.len());
        map.put("cmd", "_syndic_return");
        map.put_some("id", self.id.as_deref());
        map.put("jid", &self.jid);
        map.put("fun", self.fun.clone());
        map.put("arg", self.arg.clone());
        map.put("tgt", self.tgt.clone());
        map.put("tgt_type", self.tgt_type.clone());
        map.put("load", self.load.clone());
        map.put_some("master_id", self.master_id.as_deref());
        map.put("return", self.returns.clone());
        map.extend(self.extra.clone());
        map
    }
}
