//! Values under a bank and a key, in the table of Salt's cache `mysql`.
//!
//! Invariant: names match exactly. A table that Salt has made may take `WEB1` for
//! `web1`; a value found under another name counts as missing, and storing over it
//! is refused.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use halite_store_servers::{Address, Failure, mysql_server};

use super::Found;
use crate::error::StoreError;
use crate::limits::{LISTED_ROWS_MAX, STAMP_SETTLED_S};
use crate::mysql_tables::Tables;
use crate::sql::is_short;

/// The stamp of what has been stored so lately that what is stored next may get
/// the same time: it is never taken for known.
const UNSETTLED: i64 = i64::MAX;

/// Whether the row that is there has the name of the one that is stored.
const SAME_NAME: &str = "cast(bank as binary) = values(bank) \
     and cast(etcd_key as binary) = values(etcd_key)";

/// Values longer than `FILE_BYTES_MAX` are not fetched from the server.
const SHORT_DATA: &str = concat!("if(", is_short!("data"), ", data, null)");

/// The cache of a MySQL.
#[derive(Clone, Debug)]
pub(super) struct MysqlCache {
    tables: Arc<Tables>,
    /// In backquotes.
    table: String,
}

impl MysqlCache {
    pub(super) fn new(address: &Address, table: &str) -> Self {
        let table = format!("`{}`", table.replace('`', "``"));
        let server = mysql_server(address);
        Self {
            tables: Arc::new(Tables::of_cache(server, &table)),
            table,
        }
    }

    pub(super) fn server(&self) -> &Address {
        self.tables.server.address()
    }

    pub(super) fn note_write(&self, refused: Option<&Failure>) {
        self.tables.server.note_write(refused);
    }

    pub(super) fn fetch(&self, bank: &str, key: &str) -> Result<Option<Found>, StoreError> {
        let ask = format!(
            "select bank, etcd_key, {SHORT_DATA}, octet_length(data) from {} \
             where bank = ? and etcd_key = ?",
            self.table
        );
        let name = (bank.to_owned(), key.to_owned());
        self.tables.run(async move |mysql| {
            let arguments = vec![(&name.0).into(), (&name.1).into()];
            type Row = (String, String, Option<Vec<u8>>, Option<u64>);
            let row: Option<Row> = mysql.row(ask, arguments).await?;
            Ok(row.and_then(|(bank, key, data, length)| {
                let found = Found::of_length(data, length?);
                ((bank, key) == name).then_some(found)
            }))
        })
    }

    pub(super) fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Found>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ask = format!(
            "select etcd_key, {SHORT_DATA}, octet_length(data) from {} \
             where bank = ? and cast(bank as binary) = ? and etcd_key in ({})",
            self.table,
            vec!["?"; keys.len()].join(", ")
        );
        let mut arguments = vec![bank.into(), bank.into()];
        arguments.extend(keys.iter().map(Into::into));
        let found: Vec<(String, Option<Vec<u8>>, Option<u64>)> = self
            .tables
            .run(async move |mysql| mysql.rows(ask, arguments).await)?;
        let found = found
            .into_iter()
            .filter_map(|(key, data, length)| Some((key, Found::of_length(data, length?))));
        let mut found: HashMap<String, Found> = found.collect();
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }

    pub(super) fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let known = format!(
            "select bank, etcd_key from {} where bank = ? and etcd_key = ?",
            self.table
        );
        let store = format!(
            "insert into {} (bank, etcd_key, data) values (?, ?, ?) \
             on duplicate key update data = if({SAME_NAME}, values(data), data), \
             last_update = if({SAME_NAME}, current_timestamp, last_update)",
            self.table
        );
        let (table, name) = (self.table.clone(), (bank.to_owned(), key.to_owned()));
        self.tables.run(async move |mysql| {
            let arguments = vec![(&name.0).into(), (&name.1).into()];
            let known: Option<(String, String)> = mysql.row(known, arguments).await?;
            if let Some(other) = known.filter(|known| *known != name) {
                return Err(Failure::Refused(format!(
                    "the table {table} treats {}/{} as the same name as {}/{}: give it the \
                     collation utf8mb4_bin",
                    name.0, name.1, other.0, other.1
                )));
            }
            let arguments = vec![name.0.into(), name.1.into(), bytes.into()];
            mysql.execute(store, arguments).await?;
            Ok(())
        })
    }

    pub(super) fn replace(
        &self,
        bank: &str,
        key: &str,
        expected: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let (store, arguments) = match expected {
            None => (
                format!(
                    "insert ignore into {} (bank, etcd_key, data) values (?, ?, ?)",
                    self.table
                ),
                vec![bank.into(), key.into(), bytes.into()],
            ),
            Some(old) => (
                format!(
                    "update {} set data = ?, last_update = current_timestamp \
                     where bank = ? and etcd_key = ? and cast(bank as binary) = ? \
                     and cast(etcd_key as binary) = ? and data = ?",
                    self.table
                ),
                vec![
                    bytes.into(),
                    bank.into(),
                    key.into(),
                    bank.into(),
                    key.into(),
                    old.into(),
                ],
            ),
        };
        self.changes(store, arguments)
    }

    pub(super) fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        let remove = format!(
            "delete from {} where bank = ? and etcd_key = ? and cast(bank as binary) = ? \
             and cast(etcd_key as binary) = ?",
            self.table
        );
        let arguments = vec![bank.into(), key.into(), bank.into(), key.into()];
        self.changes(remove, arguments)
    }

    pub(super) fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        let remove = format!(
            "delete from {} where cast(bank as binary) = ? \
             or cast(left(bank, char_length(?)) as binary) = ?",
            self.table
        );
        let below = format!("{bank}/");
        self.changes(remove, vec![bank.into(), (&below).into(), (&below).into()])
    }

    pub(super) fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let ask = format!(
            "select etcd_key from {} where bank = ? and cast(bank as binary) = ? limit {LISTED_ROWS_MAX}",
            self.table
        );
        let arguments = vec![bank.into(), bank.into()];
        self.tables
            .run(async move |mysql| mysql.rows(ask, arguments).await)
    }

    pub(super) fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let ask = format!(
            "select distinct bank from {} where left(bank, char_length(?)) = ? limit {LISTED_ROWS_MAX}",
            self.table
        );
        let below = format!("{bank}/");
        let arguments = vec![(&below).into(), (&below).into()];
        let banks: Vec<String> = self
            .tables
            .run(async move |mysql| mysql.rows(ask, arguments).await)?;
        let first = |bank: &String| {
            let rest = bank.strip_prefix(&below)?;
            rest.split('/').next().map(str::to_owned)
        };
        let names: BTreeSet<String> = banks.iter().filter_map(first).collect();
        Ok(names.into_iter().collect())
    }

    /// Times by the clock of the server, which may not be ours.
    pub(super) fn stamps(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let ask = format!(
            "select etcd_key, cast(unix_timestamp(last_update) as signed), \
             last_update > current_timestamp - interval {STAMP_SETTLED_S} second \
             from {} where bank = ? and cast(bank as binary) = ? limit {LISTED_ROWS_MAX}",
            self.table
        );
        let arguments = vec![bank.into(), bank.into()];
        let found: Vec<(String, i64, bool)> = self
            .tables
            .run(async move |mysql| mysql.rows(ask, arguments).await)?;
        let stamp = |(key, at, is_new)| (key, if is_new { UNSETTLED } else { at });
        Ok(found.into_iter().map(stamp).collect())
    }

    /// Whether a statement changes anything.
    fn changes(
        &self,
        statement: String,
        arguments: Vec<halite_store_servers::MysqlValue>,
    ) -> Result<bool, StoreError> {
        self.tables.run(async move |mysql| {
            let changed: Result<u64, Failure> = mysql.execute(statement, arguments).await;
            Ok(changed? > 0)
        })
    }
}
