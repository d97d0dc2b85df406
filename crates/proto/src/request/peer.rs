//! Commands and runners that a minion requests.

use crate::fields::{Fields, MessageError, Put};
use crate::publish::take_tgt;
use crate::{Jid, Map, MinionId, Value};

/// A command for other minions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerPublish {
    /// The function, or several separated by commas.
    pub fun: String,
    /// Its arguments: a list, or what becomes one.
    pub arg: Value,
    /// Who is meant.
    pub tgt: Value,
    /// How `tgt` is meant.
    pub tgt_type: Option<String>,
    /// Returners.
    pub ret: Option<String>,
    /// How long to wait, in seconds.
    pub tmo: Option<Value>,
    /// The form of the answer: `full` or `clean`.
    pub form: Option<String>,
    /// Keyword arguments whose text is not to be parsed.
    pub no_parse: Option<Value>,
}

/// A question for the results of a job that this minion published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PubRet {
    /// The job.
    pub jid: Jid,
}

/// A runner to run on the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinionRunner {
    /// The runner's function.
    pub fun: String,
    /// Its arguments: a list, or what becomes one.
    pub arg: Value,
    /// How long to wait, in seconds.
    pub tmo: Option<Value>,
    /// Keyword arguments whose text is not to be parsed.
    pub no_parse: Option<Value>,
}

impl PeerPublish {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        let tmo = match fields.value("tmo") {
            Some(tmo) => Some(tmo),
            None => fields.value("timeout"),
        };
        Ok(Self {
            fun: fields.need("fun", Fields::text)?,
            arg: fields.value("arg").ok_or_else(|| fields.missing("arg"))?,
            tgt: take_tgt(fields)?,
            tgt_type: fields.text("tgt_type")?,
            ret: fields.text("ret")?,
            tmo,
            form: fields.text("form")?,
            no_parse: fields.value("no_parse"),
        })
    }

    pub(super) fn put(&self, cmd: &'static str, id: &MinionId, map: &mut Map) {
        map.put("cmd", cmd);
        map.put("fun", self.fun.as_str());
        map.put("arg", self.arg.clone());
        map.put("tgt", self.tgt.clone());
        map.put_some("tgt_type", self.tgt_type.as_deref());
        map.put_some("ret", self.ret.as_deref());
        map.put_some("tmo", self.tmo.clone());
        map.put_some("form", self.form.as_deref());
        map.put("id", id);
        map.put_some("no_parse", self.no_parse.clone());
    }
}

impl PubRet {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            jid: fields.need("jid", Fields::name)?,
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "pub_ret");
        map.put("id", id);
        map.put("jid", &self.jid);
    }
}

impl MinionRunner {
    pub(super) fn take(fields: &mut Fields) -> Result<Self, MessageError> {
        Ok(Self {
            fun: fields.need("fun", Fields::text)?,
            arg: fields.value("arg").ok_or_else(|| fields.missing("arg"))?,
            tmo: fields.value("tmo"),
            no_parse: fields.value("no_parse"),
        })
    }

    pub(super) fn put(&self, id: &MinionId, map: &mut Map) {
        map.put("cmd", "minion_runner");
        map.put("fun", self.fun.as_str());
        map.put("arg", self.arg.clone());
        map.put_some("tmo", self.tmo.clone());
        map.put("id", id);
        map.put_some("no_parse", self.no_parse.clone());
    }
}
