//! The return of a job.
//!
//! Described in `docs/protocol.md`, "Returns". Mirrors
//! `salt.minion.Minion._return_pub`.
//!
//! Invariant: a return is not lost because of a wrong minor field. Only the job,
//! the function and the value are required; every other field has a meaning when it
//! is missing or odd.

use crate::commits::COMMITS;
use crate::fields::{Fields, MessageError, Put};
use crate::msgpack::{Packing, packed_len};
use crate::publish::FunSpec;
use crate::{Jid, Map, Value};

const RETURN: &str = "the job return";

/// Between Halite peers, beside the job id `req`: the id that the minion has
/// given a job of its own. A master that sees it again knows the return.
pub const OWN_JOB: &str = "halite_own_job";

/// Between Halite peers: what people should read beside the return, a list of
/// texts - where the mistakes in an SLS are.
pub const NOTES: &str = "halite_notes";

/// What a master tells of a return beside the fields of [`JobReturn`]. What else
/// a minion may add is nothing that a program believes a master for.
pub const TOLD_BESIDE: [&str; 4] = ["_stamp", "pid", NOTES, COMMITS];

/// Between Halite peers, in a return that goes to another master than the one
/// that asked, and in what a master keeps of a job: the publisher that has drawn
/// the job's id, or an empty text if nobody knows who has.
pub const PUBLISHER: &str = "halite_publisher";

/// The job that a return belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnJid {
    /// A job.
    Jid(Jid),
    /// The master is to allocate one: `salt-call`, schedules.
    Req,
    /// None, and the return is not stored.
    NoCache,
}

impl ReturnJid {
    /// The job, if it is known.
    pub fn jid(&self) -> Option<&Jid> {
        match self {
            Self::Jid(jid) => Some(jid),
            Self::Req | Self::NoCache => None,
        }
    }

    /// As it travels.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Jid(jid) => jid.as_str(),
            Self::Req => "req",
            Self::NoCache => "nocache",
        }
    }

    fn take(fields: &mut Fields, field: &'static str) -> Result<Option<Self>, MessageError> {
        let text = fields.text(field)?;
        Ok(match text.as_deref() {
            None => None,
            Some("req") => Some(Self::Req),
            Some("nocache") => Some(Self::NoCache),
            Some(text) => Some(Self::Jid(Jid::parse(text).map_err(|source| {
                MessageError::BadName {
                    message: RETURN,
                    field,
                    source,
                }
            })?)),
        })
    }
}

/// The result of a job on one minion.
///
/// The minion's id is not part of it: who returned is proved by the request
/// that carries it ([`crate::request::RequestMeta`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReturn {
    /// The job.
    pub jid: ReturnJid,
    /// What ran.
    pub fun: FunSpec,
    /// The arguments as they came.
    pub fun_args: Vec<Value>,
    /// The value; of several functions a map by name, or a list.
    pub ret: Value,
    /// 0 where all went well; of several functions the worst.
    pub retcode: i64,
    /// Whether `retcode` is 0, as the minion says; of several functions whether
    /// all succeeded.
    pub success: bool,
    /// Return codes and successes of several functions, as they travel.
    pub several: Option<Several>,
    /// Who asked.
    pub user: Option<String>,
    /// The master that the job came from first.
    pub master_id: Option<String>,
    /// The caller's data.
    pub metadata: Option<Value>,
    /// The outputter.
    pub out: Option<String>,
    /// The name of the schedule that ran the job.
    pub schedule: Option<String>,
    /// Everything else.
    pub extra: Map,
}

/// Of a job with several functions: maps by function name, or lists in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Several {
    /// The return codes; a function that raised has none.
    pub retcodes: Value,
    /// The successes.
    pub successes: Value,
}

impl JobReturn {
    /// A return of one function, with success by its code.
    pub fn new(jid: ReturnJid, fun: FunSpec, fun_args: Vec<Value>, ret: Value, code: i64) -> Self {
        Self {
            jid,
            fun,
            fun_args,
            ret,
            retcode: code,
            success: code == 0,
            several: None,
            user: None,
            master_id: None,
            metadata: None,
            out: None,
            schedule: None,
            extra: Map::new(),
        }
    }

    /// Takes the return out of a `_return` request or of the data of a return
    /// event; `cmd` and `id` are dropped.
    ///
    /// # Errors
    /// When the job, the function or the value is missing or no such thing.
    pub fn from_map(map: Map) -> Result<Self, MessageError> {
        let mut fields = Fields::new(RETURN, map);
        fields.take("cmd");
        fields.take("id");
        let jid = fields.need("jid", ReturnJid::take)?;
        let fun = fields.need("fun", FunSpec::take)?;
        let ret = fields
            .take("return")
            .ok_or_else(|| fields.missing("return"))?;
        let fun_args = match fields.value("fun_args") {
            None => Vec::new(),
            Some(Value::List(items)) => items,
            Some(single) => vec![single],
        };
        let retcodes = fields.value("retcode");
        let successes = fields.value("success");
        let retcode = worst_code(retcodes.as_ref());
        let success = successes.as_ref().map_or(retcode == 0, all_true);
        let several = match (retcodes, successes) {
            (Some(retcodes @ (Value::Map(_) | Value::List(_))), successes) => Some(Several {
                retcodes,
                successes: successes.unwrap_or_default(),
            }),
            _ => None,
        };
        Ok(Self {
            jid,
            fun,
            fun_args,
            ret,
            retcode,
            success,
            several,
            user: fields.text("user")?,
            master_id: fields.text("master_id")?,
            metadata: fields.value("metadata"),
            out: optional_text(&mut fields, "out"),
            schedule: optional_text(&mut fields, "schedule"),
            extra: fields.rest(),
        })
    }

    /// Appends the fields behind `cmd` and `id`, in Salt's order.
    pub(crate) fn append_to(&self, map: &mut Map) {
        let (retcode, success) = match &self.several {
            Some(several) => (several.retcodes.clone(), several.successes.clone()),
            None => (self.retcode.into(), self.success.into()),
        };
        map.put("success", success);
        map.put("return", self.ret.clone());
        map.put("retcode", retcode);
        map.put("jid", self.jid.as_str());
        map.put("fun", self.fun.to_value());
        map.put("fun_args", self.fun_args.clone());
        map.put_some("user", self.user.as_deref());
        map.put_some("schedule", self.schedule.as_deref());
        map.put_some("master_id", self.master_id.as_deref());
        map.put_some("metadata", self.metadata.clone());
        map.put_some("out", self.out.as_deref());
        map.extend(self.extra.clone());
    }

    /// About how many bytes all that is said takes when packed, whichever field it
    /// is in.
    pub fn packed_len(&self) -> usize {
        // What names the fields, and numbers.
        const AROUND_BYTES: usize = 64;
        let of = |value: &Value| packed_len(value, Packing::Modern);
        let fun = self.fun.to_value();
        let several = self.several.iter();
        let several = several.flat_map(|several| [&several.retcodes, &several.successes]);
        let values = self.fun_args.iter().chain(&self.metadata).chain(several);
        let values = values.chain([&self.ret, &fun]).map(of);
        let extra = self.extra.iter().map(|(name, value)| of(name) + of(value));
        let texts = [&self.user, &self.master_id, &self.out, &self.schedule];
        let texts = texts.into_iter().flatten().map(String::len);
        values.chain(extra).chain(texts).sum::<usize>() + AROUND_BYTES
    }

    /// The fields of the return, without `cmd` and `id`.
    pub fn to_map(&self) -> Map {
        let mut map = Map::with_capacity(12 + self.extra.len());
        self.append_to(&mut map);
        map
    }
}

/// The code of a function, or the worst of several. What is no number counts as
/// a failure, as it does for Salt's clients.
fn worst_code(retcode: Option<&Value>) -> i64 {
    const STRANGE: i64 = 1;
    let one = |code: &Value| match code {
        Value::Nil => 0,
        Value::Bool(code) => i64::from(*code),
        Value::Int(_) => code.as_i64().unwrap_or(STRANGE),
        _ => STRANGE,
    };
    let worst = |codes: &mut dyn Iterator<Item = &Value>| {
        codes.map(one).max_by_key(|code| code.unsigned_abs())
    };
    match retcode {
        None => 0,
        Some(Value::Map(codes)) => worst(&mut codes.values()).unwrap_or(0),
        Some(Value::List(codes)) => worst(&mut codes.iter()).unwrap_or(0),
        Some(code) => one(code),
    }
}

fn all_true(success: &Value) -> bool {
    match success {
        Value::Map(several) => several.values().all(Value::is_true),
        Value::List(several) => several.iter().all(Value::is_true),
        one => one.is_true(),
    }
}

/// A text that only decorates: a value of another type is dropped.
fn optional_text(fields: &mut Fields, field: &'static str) -> Option<String> {
    fields.text(field).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jid() -> ReturnJid {
        ReturnJid::Jid(Jid::parse("20240229123456789012").unwrap())
    }

    #[test]
    fn a_return_survives() {
        let mut sent = JobReturn::new(jid(), "test.ping".into(), Vec::new(), true.into(), 0);
        sent.extra.insert("_stamp", "2024-02-29T12:34:56");
        assert_eq!(JobReturn::from_map(sent.to_map()), Ok(sent));
    }

    #[test]
    fn what_is_said_counts_whichever_field_it_is_in() {
        let plain = JobReturn::new(jid(), "test.ping".into(), Vec::new(), true.into(), 0);
        let large = "x".repeat(10_000);
        let spoil: [fn(&mut JobReturn, String); 9] = [
            |job, text| job.ret = text.into(),
            |job, text| job.fun = text.as_str().into(),
            |job, text| job.fun_args = vec![text.into()],
            |job, text| job.metadata = Some(text.into()),
            |job, text| job.out = Some(text),
            |job, text| job.user = Some(text),
            |job, text| {
                job.several = Some(Several {
                    retcodes: text.into(),
                    successes: Value::Nil,
                });
            },
            |job, text| {
                job.several = Some(Several {
                    retcodes: Value::Nil,
                    successes: text.into(),
                });
            },
            |job, text| job.extra = Map::from([(text, 1)]),
        ];
        assert!(plain.packed_len() < 200);
        for (n, spoil) in spoil.into_iter().enumerate() {
            let mut job = plain.clone();
            spoil(&mut job, large.clone());
            let packed = packed_len(&job.to_map().into(), Packing::Modern);
            let len = job.packed_len();
            assert!(len.abs_diff(packed) < 200, "{n}: {len} for {packed}");
        }
    }

    #[test]
    fn several_functions_have_the_worst_code() {
        let map = Map::from([
            ("jid", Value::from("req")),
            ("fun", vec!["a.b".into(), "c.d".into()].into()),
            ("return", Map::from([("a.b", 1), ("c.d", 2)]).into()),
            ("retcode", Map::from([("a.b", 0), ("c.d", 2)]).into()),
            ("success", Map::from([("a.b", true), ("c.d", false)]).into()),
        ]);
        let parsed = JobReturn::from_map(map).unwrap();
        assert_eq!((parsed.retcode, parsed.success), (2, false));
        assert_eq!(JobReturn::from_map(parsed.to_map()), Ok(parsed));
    }

    #[test]
    fn odd_details_do_not_lose_the_value() {
        let map = Map::from([
            ("jid", Value::from("nocache")),
            ("fun", "x.y".into()),
            ("return", Value::Nil),
            ("retcode", "bad".into()),
            ("fun_args", "one".into()),
            ("out", 5.into()),
        ]);
        let parsed = JobReturn::from_map(map).unwrap();
        assert_eq!((parsed.retcode, parsed.success), (1, false));
        assert_eq!(parsed.fun_args, ["one".into()]);
        assert_eq!(parsed.out, None);
    }

    #[test]
    fn a_return_of_no_job_is_refused() {
        let map = Map::from([
            ("jid", Value::from("../../etc")),
            ("fun", "x.y".into()),
            ("return", Value::Nil),
        ]);
        assert!(JobReturn::from_map(map).is_err());
    }
}
