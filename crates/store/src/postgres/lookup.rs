//! Reading jobs: our own records, or those that a Python master has stored.

use halite_proto::{Jid, Map, MinionId, Value};

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::kept::StoredReturn;
use crate::limits::LISTED_ROWS_MAX;
use crate::sql::is_short;
use crate::stored_jobs::{Found, check_minions, load_of, returns_of};

const KNOWS: &str = "
select exists (select from halite_jobs where jid = $1) or exists (select from jids where jid = $1)";

const HAS_LOAD: &str = "
select exists (select from halite_jobs where jid = $1 and load is not null)
    or exists (select from jids where jid = $1)";

/// The load of a job, and its minions, of which `$2` is the largest number. A job that is
/// known by its returns has the minions that returned. A load that is longer than
/// `FILE_BYTES_MAX` stays on the server, as does one of Salt's where we have ours.
const LOAD: &str = concat!(
    "select case when ",
    is_short!("job.load"),
    " then job.load end,
    case when job.load is null and ",
    is_short!("jids.load::text"),
    " then jids.load::text end, case
        when job.from_returns then array(
            select id from halite_returns where jid = $1
            union select unnest(job.minions) limit $2::bigint)
        else coalesce(job.minions[1:$2::bigint::int], '{}') end
from (select $1::text as jid) asked
    left join halite_jobs job on job.jid = asked.jid
    left join jids on jids.jid = asked.jid
where job.load is not null or jids.jid is not null"
);

/// Our returns, and those of Python masters that are not among them. Values longer than
/// `FILE_BYTES_MAX` are not fetched.
const RETURNS: &str = concat!(
    "select id, case when ",
    is_short!("packed"),
    " then packed end, out, null
from halite_returns
where jid = $1 and ($2::text is null or id = $2)
union all
select id, null, null,
    case when ",
    is_short!("full_ret::text"),
    " then full_ret::text end
from salt_returns
where jid = $1 and ($2::text is null or id = $2) and not exists (
    select from halite_returns ours
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
        let jid = jid.to_string();
        self.run(async move |postgres| {
            let row = postgres.row(question, &[&jid]).await?;
            Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
        })
    }

    pub(crate) fn load(&self, jid: &Jid) -> Result<Option<Map>, StoreError> {
        let Some((mut load, mut minions)) = self.load_and_minions(jid)? else {
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

    pub(super) fn load_and_minions(
        &self,
        jid: &Jid,
    ) -> Result<Option<(Map, Vec<String>)>, StoreError> {
        type Row = (Option<Vec<u8>>, Option<String>, Vec<String>);
        let asked = jid.to_string();
        let found: Option<Row> = self.run(async move |postgres| {
            let row = postgres.row(LOAD, &[&asked, &LISTED_ROWS_MAX]).await?;
            row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
                .transpose()
        })?;
        let Some((packed, json, minions)) = found else {
            return Ok(None);
        };
        check_minions(jid, minions.len())?;
        Ok(load_of(jid, packed, json).map(|load| (load, minions)))
    }

    pub(crate) fn returns(&self, jid: &Jid) -> Result<Vec<(MinionId, StoredReturn)>, StoreError> {
        Ok(returns_of(jid, self.found(jid, None)?))
    }

    pub(crate) fn return_of(
        &self,
        jid: &Jid,
        id: &MinionId,
    ) -> Result<Option<StoredReturn>, StoreError> {
        let found = returns_of(jid, self.found(jid, Some(id))?)
            .into_iter()
            .next();
        Ok(found.map(|(_, ret)| ret))
    }

    fn found(&self, jid: &Jid, id: Option<&MinionId>) -> Result<Vec<Found>, StoreError> {
        let (jid, id) = (jid.to_string(), id.map(ToString::to_string));
        self.run(async move |postgres| {
            let rows = postgres.rows(RETURNS, &[&jid, &id]).await?;
            rows.iter()
                .map(|row| {
                    let (id, packed) = (row.try_get(0)?, row.try_get(1)?);
                    Ok((id, packed, row.try_get(2)?, row.try_get(3)?))
                })
                .collect()
        })
    }

    pub(crate) fn endtime(&self, jid: &Jid) -> Result<Option<String>, StoreError> {
        let jid = jid.to_string();
        self.run(async move |postgres| {
            let ask = "select left(endtime, 64) from halite_jobs where jid = $1";
            match postgres.row(ask, &[&jid]).await? {
                Some(row) => Ok(row.try_get(0)?),
                None => Ok(None),
            }
        })
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
