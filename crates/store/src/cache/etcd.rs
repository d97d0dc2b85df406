//! Values under a bank and a key, as `<prefix>/<bank>/<key>` in version 3 of etcd.
//! The paths are those of Salt's cache, which has them in version 2; the values are
//! plain bytes, and their times are those that etcd keeps itself.

use std::sync::Arc;

use halite_store_servers::limits::ANSWER_BYTES_MAX;
use halite_store_servers::{
    Address, Entry, EtcdConnection, EtcdServer, Failure, ServerError, etcd_server, prefix_of,
};

use super::{Found, check_bytes};
use crate::error::StoreError;
use crate::limits::{ETCD_KEYS_AT_ONCE_MAX, ETCD_VALUES_AT_ONCE_MAX, JOBS_LISTED_MAX};

/// The cache of an etcd.
#[derive(Clone, Debug)]
pub(super) struct EtcdCache {
    server: Arc<EtcdServer>,
    prefix: String,
}

/// All keys that begin with what a bank's do.
struct Range {
    first: Vec<u8>,
    after: Vec<u8>,
}

impl EtcdCache {
    pub(super) fn new(address: &Address) -> Self {
        Self {
            server: etcd_server(address),
            prefix: prefix_of(address),
        }
    }

    pub(super) fn server(&self) -> &Address {
        self.server.address()
    }

    pub(super) fn note_write(&self, refused: Option<&Failure>) {
        self.server.note_write(refused);
    }

    fn place(&self, bank: &str, key: &str) -> Vec<u8> {
        format!("{}/{bank}/{key}", self.prefix).into_bytes()
    }

    fn range(&self, bank: &str) -> Range {
        Range {
            first: self.place(bank, ""),
            // What follows the slash in ASCII.
            after: format!("{}/{bank}0", self.prefix).into_bytes(),
        }
    }

    pub(super) fn fetch(&self, bank: &str, key: &str) -> Result<Option<Found>, StoreError> {
        let place = self.place(bank, key);
        Ok(self.server.run(async move |etcd| {
            let found = etcd.range(&place, &[], 1, false).await?;
            Ok(found
                .into_iter()
                .next()
                .map(|entry| Found::Bytes(entry.value)))
        })?)
    }

    pub(super) fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Found>>, StoreError> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(ETCD_VALUES_AT_ONCE_MAX) {
            check_bytes(self.server(), &values)?;
            let places: Vec<_> = keys.iter().map(|key| self.place(bank, key)).collect();
            let found = self
                .server
                .run(async move |etcd| etcd.get_all(&places).await);
            match found {
                Ok(found) => values.extend(
                    found
                        .into_iter()
                        .map(|entry| Some(Found::Bytes(entry?.value))),
                ),
                Err(error) if is_too_long(&error) => {
                    for key in keys {
                        values.push(self.fetch_if_short(bank, key)?);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(values)
    }

    /// A value, unless that alone is longer than what is read.
    fn fetch_if_short(&self, bank: &str, key: &str) -> Result<Option<Found>, StoreError> {
        match self.fetch(bank, key) {
            Err(StoreError::Server(error)) if is_too_long(&error) => {
                tracing::warn!(bank, key, %error, "skipping an entry that cannot be read");
                Ok(None)
            }
            found => found,
        }
    }

    pub(super) fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let place = self.place(bank, key);
        let put = async move |etcd: &mut EtcdConnection| etcd.put(&place, &bytes).await;
        Ok(self.server.run(put)?)
    }

    pub(super) fn replace(
        &self,
        bank: &str,
        key: &str,
        expected: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let place = self.place(bank, key);
        Ok(self.server.run(async move |etcd| {
            let expected = expected.as_deref();
            etcd.put_over(&place, expected, &bytes).await
        })?)
    }

    pub(super) fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        let place = self.place(bank, key);
        Ok(self
            .server
            .run(async move |etcd| Ok(etcd.delete(&place, &[]).await? > 0))?)
    }

    pub(super) fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        let Range { first, after } = self.range(bank);
        Ok(self
            .server
            .run(async move |etcd| Ok(etcd.delete(&first, &after).await? > 0))?)
    }

    pub(super) fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let found = self.below(bank)?.into_iter();
        let keys = found.filter(|(name, _)| !name.contains('/'));
        Ok(keys.map(|(name, _)| name).collect())
    }

    pub(super) fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let found = self.below(bank)?;
        let banks = found.iter().filter_map(|(name, _)| name.split_once('/'));
        let mut banks: Vec<String> = banks.map(|(bank, _)| bank.to_owned()).collect();
        // They are in order.
        banks.dedup();
        Ok(banks)
    }

    /// By key the number of its last change: it grows with each change, and never
    /// comes again.
    pub(super) fn stamps(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let mut found = self.below(bank)?;
        found.retain(|(name, _)| !name.contains('/'));
        Ok(found)
    }

    /// The keys below a bank, without the bank's name, and the numbers of their last
    /// changes.
    fn below(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let range = self.range(bank);
        let begin = range.first.len();
        let found = self
            .server
            .run(async move |etcd| list(etcd, range).await)?
            .into_iter();
        // A name that is not text is none of ours.
        let named = found.filter_map(|entry| {
            let name = entry.key.get(begin..)?.to_vec();
            Some((String::from_utf8(name).ok()?, entry.changed))
        });
        Ok(named.collect())
    }
}

fn is_too_long(error: &ServerError) -> bool {
    matches!(error.failure, Failure::TooLong { .. })
}

/// The keys of a range. It ends when there are more than are listed.
async fn list(etcd: &mut EtcdConnection, range: Range) -> Result<Vec<Entry>, Failure> {
    let Range { mut first, after } = range;
    let mut all: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    loop {
        let found = etcd
            .range(&first, &after, ETCD_KEYS_AT_ONCE_MAX, true)
            .await?;
        let is_last = found.len() < ETCD_KEYS_AT_ONCE_MAX;
        let next = found.last().map(|entry| entry.key.clone());
        bytes += found.iter().map(|entry| entry.key.len()).sum::<usize>();
        if bytes > ANSWER_BYTES_MAX {
            return Err(Failure::answer_too_long());
        }
        all.extend(found);
        match next {
            Some(next) if !is_last && all.len() <= JOBS_LISTED_MAX => {
                // Right behind it. A server that goes back would be asked for ever.
                if next < first {
                    return Err(Failure::Answer("keys out of order".to_owned()));
                }
                first = next;
                first.push(0);
            }
            _ => return Ok(all),
        }
    }
}
