//! Values under a bank and a key, in the table of Salt's cache `mysql`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use halite_store_servers::{Address, Failure, mysql_server};

use crate::error::StoreError;
use crate::limits::STAMP_SETTLED_S;
use crate::mysql_tables::Tables;

/// The stamp of what has been stored so lately that what is stored next may get
/// the same time: it is never taken for known.
const UNSETTLED: i64 = i64::MAX;

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

    pub(super) fn fetch(&self, bank: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let ask = format!(
            "select data from {} where bank = ? and etcd_key = ?",
            self.table
        );
        let arguments = vec![bank.into(), key.into()];
        self.tables.run(async move |mysql| {
            let row: Option<(Option<Vec<u8>>,)> = mysql.row(ask, arguments).await?;
            Ok(row.and_then(|(data,)| data))
        })
    }

    pub(super) fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ask = format!(
            "select etcd_key, data from {} where bank = ? and etcd_key in ({})",
            self.table,
            vec!["?"; keys.len()].join(", ")
        );
        let mut arguments = vec![bank.into()];
        arguments.extend(keys.iter().map(Into::into));
        let found: Vec<(String, Vec<u8>)> = self
            .tables
            .run(async move |mysql| mysql.rows(ask, arguments).await)?;
        let mut found: HashMap<String, Vec<u8>> = found.into_iter().collect();
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }

    pub(super) fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let store = format!(
            "insert into {} (bank, etcd_key, data) values (?, ?, ?) \
             on duplicate key update data = values(data), last_update = current_timestamp",
            self.table
        );
        let arguments = vec![bank.into(), key.into(), bytes.into()];
        self.tables.run(async move |mysql| {
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
                     where bank = ? and etcd_key = ? and data = ?",
                    self.table
                ),
                vec![bytes.into(), bank.into(), key.into(), old.into()],
            ),
        };
        self.changes(store, arguments)
    }

    pub(super) fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        let remove = format!("delete from {} where bank = ? and etcd_key = ?", self.table);
        self.changes(remove, vec![bank.into(), key.into()])
    }

    pub(super) fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        let remove = format!(
            "delete from {} where bank = ? or left(bank, char_length(?)) = ?",
            self.table
        );
        let below = format!("{bank}/");
        self.changes(remove, vec![bank.into(), (&below).into(), (&below).into()])
    }

    pub(super) fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let ask = format!("select etcd_key from {} where bank = ?", self.table);
        let arguments = vec![bank.into()];
        self.tables
            .run(async move |mysql| mysql.rows(ask, arguments).await)
    }

    pub(super) fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let ask = format!(
            "select distinct bank from {} where left(bank, char_length(?)) = ?",
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
             from {} where bank = ?",
            self.table
        );
        let arguments = vec![bank.into()];
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
