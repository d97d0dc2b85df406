//! Reading jobs: our own records, or those that a Python master has stored.

use halite_proto::{Jid, Map, MinionId, Value};
use halite_store_servers::MysqlValue;

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::kept::StoredReturn;
use crate::limits::LISTED_ROWS_MAX;
use crate::sql::is_short;
use crate::stored_jobs::{check_minions, load_of, returns_of};

const KNOWS: &str = "
select exists (select 1 from halite_jobs where jid = ?)
    or exists (select 1 from jids where jid = ?)";

const HAS_LOAD: &str = "
select exists (select 1 from halite_jobs where jid = ? and `load` is not null)
    or exists (select 1 from jids where jid = ?)";

/// A load that is longer than `FILE_BYTES_MAX` stays on the server, as does one of Salt's
/// where we have ours.
const LOAD: &str = concat!(
    "select if(",
    is_short!("job.`load`"),
    ", job.`load`, null), if(job.`load` is null and ",
    is_short!("jids.`load`"),
    ", jids.`load`, null),
    coalesce(job.from_returns, false)
from (select ? as jid) asked
    left join halite_jobs job on job.jid = asked.jid
    left join jids on jids.jid = asked.jid
where job.`load` is not null or jids.jid is not null"
);

/// Our load, Salt's, and whether the job is known by its returns alone.
type Row = (Option<Vec<u8>>, Option<String>, bool);

const MINIONS: &str = "
select id from halite_minions where jid = ?
union select id from halite_returns where jid = ? and ? limit ?";

/// Our returns, and those of Python masters that are not among them. Values longer than
/// `FILE_BYTES_MAX` are not fetched.
const RETURNS: &str = concat!(
    "select id, if(",
    is_short!("packed"),
    ", packed, null), `out`, null
from halite_returns
where jid = ? and (? is null or id = ?)
union all
select id, null, null, if(",
    is_short!("full_ret"),
    ", full_ret, null)
from salt_returns
where jid = ? and (? is null or id = ?) and not exists (
    select 1 from halite_returns ours
    where ours.jid = salt_returns.jid and ours.id = salt_returns.id)"
);

impl Jobs {
    pub(crate) fn knows(&self, jid: &Jid) -> Result<bool, StoreError> {
        self.is_so(KNOWS, jid)
    }

    pub(crate) fn has_load(&self, jid: &Jid) -> Result<bool, StoreError> {
        self.is_so(HAS_LOAD, jid)
    }

    fn is_so(&self, question: &'static str, jid: &Jid) -> Result<bool, StoreError> {
        let arguments = vec![jid.as_str().into(), jid.as_str().into()];
        let found: Option<bool> =
            self.run(async move |mysql| mysql.row(question, arguments).await)?;
        Ok(found.unwrap_or(false))
    }

    /// The load, without its minions.
    pub(super) fn load_alone(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let asked = jid.to_string();
        let found: Option<Row> =
            self.run(async move |mysql| mysql.row(LOAD, vec![(&asked).into()]).await)?;
        Ok(found.and_then(|(packed, json, _)| load_of(jid, packed, json)))
    }

    pub(crate) fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let asked = jid.to_string();
        let found: Option<(Row, Vec<String>)> = self.run(async move |mysql| {
            let row: Option<Row> = mysql.row(LOAD, vec![(&asked).into()]).await?;
            let Some(row) = row else { return Ok(None) };
            let jid: MysqlValue = (&asked).into();
            let arguments = vec![jid.clone(), jid, row.2.into(), LISTED_ROWS_MAX.into()];
            let minions = mysql.rows(MINIONS, arguments).await?;
            Ok(Some((row, minions)))
        })?;
        let Some(((packed, json, _), mut minions)) = found else {
            return Ok(None);
        };
        check_minions(jid, minions.len())?;
        let Some(mut load) = load_of(jid, packed, json) else {
            return Ok(None);
        };
        minions.retain(|id| MinionId::parse(id).is_ok());
        minions.sort_unstable();
        if !minions.is_empty() {
            let minions = minions.into_iter().map(Value::from);
            load.insert("Minions", Value::List(minions.collect()));
        }
        Ok(Some(load))
    }

    pub(crate) fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        self.found(jid, None)
    }

    pub(crate) fn return_of(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<Option<StoredReturn>, StoreError> {
        let found = self.found(jid, Some(id))?.into_iter().next();
        Ok(found.map(|(_, ret)| ret))
    }

    fn found(
        &self,
        jid: &Jid,
        id: Option<&MinionId>,
    ) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        let id = id.map(MinionId::as_str);
        let one = [jid.as_str().into(), id.into(), id.into()];
        let arguments = [one.clone(), one].concat();
        let found = self.run(async move |mysql| mysql.rows(RETURNS, arguments).await)?;
        Ok(returns_of(jid, found))
    }

    pub(crate) fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let arguments = vec![jid.as_str().into()];
        let found: Option<(Option<String>,)> = self.run(async move |mysql| {
            let ask = "select left(endtime, 64) from halite_jobs where jid = ?";
            mysql.row(ask, arguments).await
        })?;
        Ok(found.and_then(|(endtime,)| endtime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FILE_BYTES_MAX;

    #[test]
    fn the_statements_have_the_limit() {
        for statement in [LOAD, RETURNS] {
            assert_eq!(
                statement.matches(&format!("<= {FILE_BYTES_MAX}")).count(),
                2
            );
        }
    }
}
