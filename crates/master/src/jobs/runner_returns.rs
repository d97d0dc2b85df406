//! Returns of runners and wheel functions in the job cache.

use halite_proto::msgpack::Entries;
use halite_proto::publish::FunSpec;
use halite_proto::returns::{JobReturn, ReturnJid};
use halite_proto::{Jid, Map, MinionId, Value};

use super::Jobs;
use crate::cluster::message::Message;
use crate::core::owner::{PROVEN_BY, ProvenBy, note_proof};
use crate::error::chain;

impl Jobs {
    /// Stores what a runner or a wheel function has returned, as the return of a
    /// minion with the master's name, and gives it back: it may be large.
    pub(crate) fn store_runner_return(&self, jid: &Jid, by: Option<&ProvenBy>, data: Map) -> Map {
        let settings = &self.settings;
        if !(settings.stores_runner_returns && settings.stores_returns) {
            return data;
        }
        let Ok(id) = MinionId::parse(self.general.id.as_str()) else {
            return data;
        };
        let (mut load, ret) = stored_form(jid, &id, data);
        note_proof(&mut load, by);
        self.mirror
            .load(jid, &load, Some(std::slice::from_ref(&id)));
        self.mirror.returned(jid, &id, &ret);
        self.keep_runner_return(jid, &id, &load, &ret);
        let ret = match &self.cluster {
            Some(cluster) if !cluster.shares_cache() => {
                let message = Message::RunnerReturn(id, load, Box::new(ret));
                cluster.tell(&message);
                match message {
                    Message::RunnerReturn(_, _, ret) => ret.ret,
                    _ => Value::Nil,
                }
            }
            _ => ret.ret,
        };
        match ret {
            Value::Map(data) => data,
            _ => Map::new(),
        }
    }

    /// Whether the return of a runner may come here packed.
    pub(crate) fn takes_packed(&self) -> bool {
        self.cluster.is_none() && !self.mirror.is_on() && self.cache.is_packed()
    }

    /// Stores the return of a runner: the map of `value`; `data` has the other fields.
    pub(crate) fn store_packed_runner_return(
        &self,
        jid: &Jid,
        by: Option<&ProvenBy>,
        data: &Map,
        value: &Entries,
    ) {
        let settings = &self.settings;
        if !(settings.stores_runner_returns && settings.stores_returns) {
            return;
        }
        let Ok(id) = MinionId::parse(self.general.id.as_str()) else {
            return;
        };
        let (mut load, ret) = stored_form(jid, &id, data.clone());
        note_proof(&mut load, by);
        let stored = self
            .cache
            .save_load(jid, &load, Some(std::slice::from_ref(&id)))
            .and_then(|()| self.cache.save_packed_return(jid, &id, &ret, value));
        if let Err(error) = stored {
            tracing::error!(%jid, "could not store the return of a runner: {}", chain(&error));
        }
    }

    /// Stores how a runner of another master has ended that can no longer report it. `by`
    /// is how the name of its user was proven.
    pub(crate) fn keep_lost_runner(&self, jid: &Jid, id: &MinionId, by: Option<Value>, data: &Map) {
        let settings = &self.settings;
        if !(settings.stores_runner_returns && settings.stores_returns) {
            return;
        }
        if let Err(error) = self.cache.prepare(jid, false) {
            tracing::error!(%jid, "could not create the job of a runner: {}", chain(&error));
        }
        let (mut load, ret) = stored_form(jid, id, data.clone());
        if let Some(by) = by {
            load.insert(PROVEN_BY, by);
        }
        self.keep_runner_return(jid, id, &load, &ret);
    }

    /// Stores the return of a runner of this master or of a peer.
    pub(crate) fn keep_runner_return(&self, jid: &Jid, id: &MinionId, load: &Map, ret: &JobReturn) {
        let stored = self
            .cache
            .save_load(jid, load, Some(std::slice::from_ref(id)))
            .and_then(|()| self.cache.save_return(jid, id, ret));
        if let Err(error) = stored {
            tracing::error!(%jid, "could not store the return of a runner: {}", chain(&error));
        }
    }
}

/// The return of a runner as the job and the return of the minion `id`.
fn stored_form(jid: &Jid, id: &MinionId, data: Map) -> (Map, JobReturn) {
    let args = data.get("fun_args").and_then(Value::as_list);
    let args = args.unwrap_or_default().to_vec();
    let fun = data.get("fun").and_then(Value::as_str).unwrap_or_default();
    let fun = fun.to_owned();
    let retcode = data.get("retcode").and_then(Value::as_i64).unwrap_or(0);
    let load = Map::from([
        ("fun", Value::from(fun.as_str())),
        ("arg", Value::List(Vec::new())),
        ("tgt", id.into()),
        ("tgt_type", "list".into()),
        ("jid", jid.into()),
        ("user", data.get("user").cloned().unwrap_or_default()),
        ("id", id.into()),
    ]);
    let ret = JobReturn::new(
        ReturnJid::Jid(jid.clone()),
        FunSpec::One(fun),
        args,
        data.into(),
        retcode,
    );
    (load, ret)
}
