//! Values under a bank and a key, in the table `halite_cache`.

use std::collections::HashMap;
use std::sync::Arc;

use halite_store_servers::{Address, Failure, PostgresRow, PostgresServer, postgres_server};

use super::Found;
use crate::error::StoreError;
use crate::limits::LISTED_ROWS_MAX;
use crate::sql::is_short;

/// The cache of a PostgreSQL.
#[derive(Clone, Debug)]
pub(super) struct PostgresCache {
    server: Arc<PostgresServer>,
}

/// Lists have `LISTED_ROWS_MAX` names at most, which is `$2`.
const KEYS: &str = "select key from halite_cache where bank = $1 limit $2";

const BANKS_BELOW: &str = "
select distinct split_part(substr(bank, length($1) + 1), '/', 1)
from halite_cache where starts_with(bank, $1) limit $2";

const STAMPS: &str = "select key, version from halite_cache where bank = $1 limit $2";

/// A bank, or one below it: `$1` is its name, `$2` its name with a slash.
const FLUSH_BANK: &str = "delete from halite_cache where bank = $1 or starts_with(bank, $2)";

/// Values longer than `FILE_BYTES_MAX` are not fetched from the server; the length is in
/// the row and costs nothing to read.
const FETCH: &str = concat!(
    "select case when ",
    is_short!("data"),
    " then data end, octet_length(data)
from halite_cache where bank = $1 and key = $2"
);

const FETCH_MANY: &str = concat!(
    "select key, case when ",
    is_short!("data"),
    " then data end, octet_length(data)
from halite_cache where bank = $1 and key = any($2)"
);

const STORE: &str = "
insert into halite_cache (bank, key, data, version)
values ($1, $2, $3, nextval('halite_versions'))
on conflict (bank, key) do update
    set data = excluded.data, version = excluded.version, changed = now()";

const STORE_NEW: &str = "
insert into halite_cache (bank, key, data, version)
values ($1, $2, $3, nextval('halite_versions'))
on conflict (bank, key) do nothing";

const STORE_OVER: &str = "
update halite_cache set data = $3, version = nextval('halite_versions'), changed = now()
where bank = $1 and key = $2 and data = $4";

/// A value in two columns.
fn found(row: &PostgresRow, column: usize) -> Result<Found, Failure> {
    let length: i32 = row.try_get(column + 1)?;
    Ok(Found::of_length(row.try_get(column)?, length))
}

impl PostgresCache {
    pub(super) fn new(address: &Address) -> Self {
        Self {
            server: postgres_server(address),
        }
    }

    pub(super) fn server(&self) -> &Address {
        self.server.address()
    }

    pub(super) fn note_write(&self, refused: Option<&Failure>) {
        self.server.note_write(refused);
    }

    pub(super) fn fetch(&self, bank: &str, key: &str) -> Result<Option<Found>, StoreError> {
        let (bank, key) = (bank.to_owned(), key.to_owned());
        Ok(self.server.run(async move |postgres| {
            let row = postgres.row(FETCH, &[&bank, &key]).await?;
            row.map(|row| found(&row, 0)).transpose()
        })?)
    }

    pub(super) fn fetch_many(
        &self,
        bank: &str,
        keys: &[String],
    ) -> Result<Vec<Option<Found>>, StoreError> {
        let (bank, wanted) = (bank.to_owned(), keys.to_vec());
        let mut found: HashMap<String, Found> = self.server.run(async move |postgres| {
            let rows = postgres.rows(FETCH_MANY, &[&bank, &wanted]).await?;
            let pairs = rows.iter().map(|row| Ok((row.try_get(0)?, found(row, 1)?)));
            pairs.collect()
        })?;
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }

    pub(super) fn store(&self, bank: &str, key: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let (bank, key) = (bank.to_owned(), key.to_owned());
        Ok(self.server.run(async move |postgres| {
            postgres.execute(STORE, &[&bank, &key, &bytes]).await?;
            Ok(())
        })?)
    }

    pub(super) fn replace(
        &self,
        bank: &str,
        key: &str,
        expected: Option<Vec<u8>>,
        bytes: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let (bank, key) = (bank.to_owned(), key.to_owned());
        Ok(self.server.run(async move |postgres| {
            let changed = match &expected {
                None => postgres.execute(STORE_NEW, &[&bank, &key, &bytes]).await?,
                Some(old) => {
                    postgres
                        .execute(STORE_OVER, &[&bank, &key, &bytes, old])
                        .await?
                }
            };
            Ok(changed > 0)
        })?)
    }

    pub(super) fn flush_key(&self, bank: &str, key: &str) -> Result<bool, StoreError> {
        let (bank, key) = (bank.to_owned(), key.to_owned());
        Ok(self.server.run(async move |postgres| {
            let remove = "delete from halite_cache where bank = $1 and key = $2";
            Ok(postgres.execute(remove, &[&bank, &key]).await? > 0)
        })?)
    }

    pub(super) fn flush_bank(&self, bank: &str) -> Result<bool, StoreError> {
        let (bank, below) = (bank.to_owned(), format!("{bank}/"));
        Ok(self.server.run(async move |postgres| {
            Ok(postgres.execute(FLUSH_BANK, &[&bank, &below]).await? > 0)
        })?)
    }

    pub(super) fn keys(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let bank = bank.to_owned();
        Ok(self.server.run(async move |postgres| {
            let rows = postgres.rows(KEYS, &[&bank, &LISTED_ROWS_MAX]).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })?)
    }

    pub(super) fn banks_below(&self, bank: &str) -> Result<Vec<String>, StoreError> {
        let below = format!("{bank}/");
        Ok(self.server.run(async move |postgres| {
            let rows = postgres
                .rows(BANKS_BELOW, &[&below, &LISTED_ROWS_MAX])
                .await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })?)
    }

    /// By key the number of its last change: it grows with each change, and
    /// never comes again.
    pub(super) fn stamps(&self, bank: &str) -> Result<Vec<(String, i64)>, StoreError> {
        let bank = bank.to_owned();
        Ok(self.server.run(async move |postgres| {
            let rows = postgres.rows(STAMPS, &[&bank, &LISTED_ROWS_MAX]).await?;
            let pairs = rows
                .iter()
                .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
            pairs.collect()
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FILE_BYTES_MAX;

    #[test]
    fn the_statements_have_the_limit() {
        for statement in [FETCH, FETCH_MANY] {
            assert!(statement.contains(&format!("<= {FILE_BYTES_MAX} ")));
        }
    }
}
