//! Salt's cache `etcd` (3008.5, `salt/cache/etcd_cache.py`): in version 2 of etcd,
//! `<prefix>/<bank>/<key>` is a value in base64, and `<key>.tstamp` beside it the
//! time of storing in seconds.
//!
//! Invariant: the value decides, and the time is only for Salt's readers, since the
//! two cannot be written at once.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use halite_process::clock::unix_seconds;
use halite_store_servers::{
    Address, EtcdConnection, EtcdServer, Failure, Node, ServerError, etcd_v2_server, prefix_of,
};

use super::{Found, check_bytes};
use crate::error::StoreError;
use crate::limits::ETCD_VALUES_AT_ONCE_MAX;

/// Salt's cache of an etcd.
#[derive(Clone, Debug)]
pub(super) struct EtcdV2Cache {
    server: Arc<EtcdServer>,
    prefix: String,
    stamp_suffix: String,
}

impl EtcdV2Cache {
    pub(super) fn new(address: &Address, stamp_suffix: &str) -> Self {
        Self {
            server: etcd_v2_server(address),
            prefix: prefix_of(address),
            stamp_suffix: stamp_suffix.to_owned(),
        }
    }

    pub(super) fn server(&self) -> &Address {
        self.server.address()
    }

    pub(super) fn note_write(&self, refused: Option<&Failure>) {
        self.server.note_write(refused);
    }

    fn place(&self, bank: &str, key: &str) -> String {
        format!("{}/{bank}/{key}", self.prefix)
    }

    fn bank_place(&self, bank: &str) -> String {
        format!("{}/{bank}", self.prefix)
    }

    pub(super) fn fetch(&self, bank: &str, key: &str) -> Result<Option<Found>, StoreError> {
        if self.why_no_key(key).is_some() {
            return Ok(None);
        }
        let place = self.place(bank, key);
        Ok(self.server.run(async move |etcd| {
            Ok(get(etcd, &place)
                .await?
                .map(|(bytes, _)| Found::Bytes(bytes)))
        })?)
    }

    /// One after the other: version 2 answers one question at a time.
    pub(super) fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Found>>, StoreError> {
        let place = |key: &String| match self.why_no_key(key) {
            Some(_) => None,
            None => Some(self.place(bank, key)),
        };
        let places: Vec<Option<String>> = keys.iter().map(place).collect();
        let mut values = Vec::with_capacity(places.len());
        for some in places.chunks(ETCD_VALUES_AT_ONCE_MAX) {
            check_bytes(self.server(), &values)?;
            let some = some.to_vec();
            // What has been answered in one operation's time stays.
            let found: Vec<Option<Found>> = self.server.run(async move |etcd| {
                let mut found = Vec::with_capacity(some.len());
                for place in some {
                    found.push(match place {
                        Some(place) => get_if_readable(etcd, &place).await?.map(Found::Bytes),
                        None => None,
                    });
                }
                Ok(found)
            })?;
            values.extend(found);
        }
        Ok(values)
    }

    pub(super) fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.check_name(key)?;
        let (place, suffix) = (self.place(bank, key), self.stamp_suffix.clone());
        Ok(self.server.run(async move |etcd| {
            let done = etcd.set_v2(&place, &STANDARD.encode(bytes)).await?;
            done.map_err(|_| no_value())?;
            stamp(etcd, &place, &suffix).await
        })?)
    }

    pub(super) fn replace(
        &self,
        bank: &str,
        key: &str,
        expected: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.check_name(key)?;
        let (place, suffix) = (self.place(bank, key), self.stamp_suffix.clone());
        Ok(self.server.run(async move |etcd| {
            let known = get(etcd, &place).await?;
            if known.as_ref().map(|(bytes, _)| bytes) != expected.as_ref() {
                return Ok(false);
            }
            let index = known.map(|(_, index)| index);
            let value = STANDARD.encode(bytes);
            if etcd.set_over_v2(&place, index, &value).await?.is_err() {
                return Ok(false);
            }
            stamp(etcd, &place, &suffix).await?;
            Ok(true)
        })?)
    }

    pub(super) fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        if self.why_no_key(key).is_some() {
            return Ok(false);
        }
        let (place, suffix) = (self.place(bank, key), self.stamp_suffix.clone());
        Ok(self.server.run(async move |etcd| {
            let was_there = etcd.delete_v2(&place).await?.is_ok();
            // Whether there is one or not.
            let _ = etcd.delete_v2(&format!("{place}{suffix}")).await?;
            Ok(was_there)
        })?)
    }

    pub(super) fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        let place = self.bank_place(bank);
        Ok(self
            .server
            .run(async move |etcd| Ok(etcd.delete_tree_v2(&place).await?.is_ok()))?)
    }

    pub(super) fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let nodes = self.nodes(bank)?.into_iter();
        Ok(nodes
            .filter(|node| self.is_value(node))
            .map(|node| node.name)
            .collect())
    }

    pub(super) fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let nodes = self.nodes(bank)?.into_iter();
        Ok(nodes
            .filter(|node| node.is_dir)
            .map(|node| node.name)
            .collect())
    }

    /// By key the number of its last change: it grows with each change, and never
    /// comes again.
    pub(super) fn stamps(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let nodes = self.nodes(bank)?.into_iter();
        Ok(nodes
            .filter(|node| self.is_value(node))
            .map(|node| (node.name, node.index))
            .collect())
    }

    fn nodes(&self, bank: &str) -> Result<Vec<Node>, StoreError> {
        let place = self.bank_place(bank);
        Ok(self.server.run(async move |etcd| {
            let found = etcd.get_v2(&place).await?;
            Ok(found.map_or_else(|_| Vec::new(), |node| node.nodes))
        })?)
    }

    fn is_value(&self, node: &Node) -> bool {
        !node.is_dir && !node.name.ends_with(&self.stamp_suffix)
    }

    /// Why a key cannot be used: version 2 lists no name that begins with `_`, and a name
    /// with the suffix of a time would be taken for one. Minions may have such ids;
    /// nothing is stored for them.
    fn why_no_key(&self, key: &str) -> Option<&'static str> {
        match key {
            key if key.starts_with('_') => {
                Some("version 2 of etcd lists no key that begins with _")
            }
            key if key.ends_with(&self.stamp_suffix) => Some("a key that ends so would be a time"),
            _ => None,
        }
    }

    fn check_name(&self, key: &str) -> Result<(), StoreError> {
        let Some(why) = self.why_no_key(key) else {
            return Ok(());
        };
        Err(StoreError::Server(ServerError {
            server: self.server().to_string(),
            failure: Failure::Refused(why.to_owned()),
        }))
    }
}

/// A value with the number of its last change.
async fn get(etcd: &mut EtcdConnection, place: &str) -> Result<Option<(Vec<u8>, i64)>, Failure> {
    let Ok(node) = etcd.get_v2(place).await? else {
        return Ok(None);
    };
    if node.is_dir {
        return Ok(None);
    }
    let bytes = STANDARD.decode(&node.value);
    let bytes = bytes.map_err(|_| Failure::Answer("a value is not base64".to_owned()))?;
    Ok(Some((bytes, node.index)))
}

/// A value; one that nobody can read is left out, for it is one of many.
async fn get_if_readable(
    etcd: &mut EtcdConnection,
    place: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    match get(etcd, place).await {
        Ok(found) => Ok(found.map(|(bytes, _)| bytes)),
        Err(Failure::Answer(why)) => {
            tracing::warn!(place, why, "skipping an entry that cannot be read");
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

async fn stamp(etcd: &mut EtcdConnection, place: &str, suffix: &str) -> Result<(), Failure> {
    let place = format!("{place}{suffix}");
    let done = etcd.set_v2(&place, &unix_seconds().to_string()).await?;
    done.map(drop).map_err(|_| no_value())
}

/// A directory is where a value should be.
fn no_value() -> Failure {
    Failure::Refused("a bank has the name of this key".to_owned())
}
