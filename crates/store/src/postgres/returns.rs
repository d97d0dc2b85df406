//! Storing returns.

use std::collections::HashMap;

use halite_proto::msgpack::unpack_modern;
use halite_proto::returns::JobReturn;
use halite_proto::{Jid, MinionId, Value};
use halite_store_servers::{Failure, PostgresConnection};

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::kept::Saved;
use crate::return_queue::{Entry, Outcome};

/// The arguments are columns of the returns: `$1` job, `$2` minion, `$3` the
/// return as it came, `$4` outputter, `$5` function, `$6` success, `$7` and `$8`
/// what Salt's two columns hold, `$9` and `$10` the load of a job that is known
/// by nothing else, as it is and as Salt has it. Each table is asked row by row
/// (`limit 1`): the plan is kept from when the tables were empty, and would read
/// them as a whole. Each argument is a `select` of its own: PostgreSQL sees the
/// length of any other, expects less of a plan for just so many rows, and plans
/// anew each time, which takes twice as long as all the rest.
const SAVE: &str = "
with given as (
    select * from unnest(
            (select $1::text[]), (select $2::text[]), (select $3::bytea[]), (select $4::text[]),
            (select $5::text[]), (select $6::text[]), (select $7::text[]), (select $8::text[]),
            (select $9::bytea[]), (select $10::text[]))
        as given (jid, id, packed, out, fun, success, ret, full_ret, load, salts_load)
), kept as (
    select given.*,
        (select true from halite_jobs job where job.jid = given.jid and job.load is not null
            limit 1) is null
        and (select true from jids where jids.jid = given.jid limit 1) is null as is_unknown,
        (select true from salt_returns salts where salts.jid = given.jid and salts.id = given.id
            limit 1) is null as is_new
    from given
    where (select job.nocache from halite_jobs job where job.jid = given.jid limit 1) is not true
), unknown as (
    select distinct on (jid) jid, load, salts_load from kept where is_unknown
), jobs as (
    insert into halite_jobs (jid, load, from_returns) select jid, load, true from unknown
    on conflict (jid) do update set
        load = coalesce(halite_jobs.load, excluded.load),
        from_returns = halite_jobs.load is null or halite_jobs.from_returns
), salts_jobs as (
    insert into jids (jid, load) select jid, salts_load::jsonb from unknown
    on conflict (jid) do nothing
), new as (
    insert into halite_returns (jid, id, packed, out) select jid, id, packed, out from kept
    where is_new
    on conflict (jid, id) do nothing
    returning jid, id
), salts as (
    insert into salt_returns (fun, jid, return, id, success, full_ret)
    select fun, jid, ret::jsonb, id, success, full_ret::jsonb from kept join new using (jid, id)
)
select given.jid, given.id, kept.jid is null, new.jid is not null
from given
    left join kept on kept.jid = given.jid and kept.id = given.id
    left join new on new.jid = given.jid and new.id = given.id";

const IS_STORED: &str = "
select packed = $3 from halite_returns where jid = $1 and id = $2";

impl Jobs {
    pub(crate) fn save_return(
        &self,
        jid: &Jid,
        id: &MinionId,
        ret: &JobReturn,
    ) -> Result<Saved, StoreError> {
        let entry = Entry::new(jid, id, ret)?;
        let outcome = self
            .returns
            .save(entry.clone(), |entries| self.save_entries(entries))?;
        Ok(match outcome {
            Outcome::NoCache => Saved::NoCache,
            Outcome::New => Saved::Stored,
            Outcome::Known | Outcome::Failed => Saved::Duplicate {
                differs: self.differs(entry)?,
            },
        })
    }

    /// Stores returns, and gives by their tickets what has become of them.
    fn save_entries(&self, entries: Vec<Entry>) -> Result<Vec<(u64, Outcome)>, StoreError> {
        self.run(async move |postgres| save(postgres, &entries).await)
    }

    /// Whether a return differs from the stored one.
    fn differs(&self, entry: Entry) -> Result<bool, StoreError> {
        let jid = entry.jid.clone();
        let (asked_jid, asked_id) = (entry.jid, entry.id.clone());
        let ours = entry.packed.clone();
        let is_same: Option<bool> = self.run(async move |postgres| {
            let row = postgres
                .row(IS_STORED, &[&asked_jid, &asked_id, &ours])
                .await?;
            Ok(row.map(|row| row.try_get(0)).transpose()?)
        })?;
        if let Some(is_same) = is_same {
            return Ok(!is_same);
        }
        // A Python master has stored it, as JSON.
        let (Ok(jid), Ok(id)) = (Jid::parse(jid), MinionId::parse(entry.id)) else {
            return Ok(true);
        };
        let ours = match unpack_modern(&entry.packed) {
            Ok(Value::Map(map)) => map.get("return").cloned(),
            _ => None,
        };
        let theirs = self.return_of(&jid, &id)?;
        Ok(theirs.map(|theirs| theirs.ret().clone()) != ours)
    }
}

async fn save(
    postgres: &mut PostgresConnection,
    entries: &[Entry],
) -> Result<Vec<(u64, Outcome)>, Failure> {
    macro_rules! column {
        ($field:ident) => {
            entries
                .iter()
                .map(|entry| &entry.$field)
                .collect::<Vec<_>>()
        };
    }
    let rows = postgres
        .rows(
            SAVE,
            &[
                &column!(jid),
                &column!(id),
                &column!(packed),
                &column!(out),
                &column!(fun),
                &column!(success),
                &column!(ret),
                &column!(full_ret),
                &column!(load),
                &column!(salts_load),
            ],
        )
        .await?;
    let tickets: HashMap<(&str, &str), u64> = entries
        .iter()
        .map(|entry| ((entry.jid.as_str(), entry.id.as_str()), entry.ticket))
        .collect();
    let mut outcomes = Vec::with_capacity(rows.len());
    for row in &rows {
        let (jid, id): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let outcome = match (row.try_get(2)?, row.try_get(3)?) {
            (true, _) => Outcome::NoCache,
            (false, true) => Outcome::New,
            (false, false) => Outcome::Known,
        };
        match tickets.get(&(jid, id)) {
            Some(ticket) => outcomes.push((*ticket, outcome)),
            None => return Err(Failure::Answer("a return that was not sent".to_owned())),
        }
    }
    match outcomes.len() == entries.len() {
        true => Ok(outcomes),
        false => Err(Failure::Answer(
            "not as many returns as were sent".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::publish::FunSpec;
    use halite_proto::returns::ReturnJid;
    use halite_store_servers::Address;
    use halite_test_services::{Postgres, Wanted};

    use super::*;
    use crate::postgres::{JobTables, PostgresOptions};

    /// A connection plans a statement anew five times before it keeps a plan.
    const PLANNED_ANEW_MAX: i64 = 5;

    #[test]
    fn a_statement_that_stores_returns_is_planned_once() {
        let Some(server) = Postgres::for_test(&Wanted::default()) else {
            return;
        };
        let jobs = Jobs::new(&PostgresOptions {
            address: Address::parse(&server.url("salt")).unwrap(),
            tables: JobTables::Jsonb,
        });
        let jid = Jid::parse("20260102030405000001").unwrap();
        let fun = FunSpec::One("test.ping".to_owned());
        let ret = JobReturn::new(ReturnJid::Jid(jid.clone()), fun, Vec::new(), true.into(), 0);
        for number in 0..20 {
            let id = MinionId::parse(format!("web{number}")).unwrap();
            assert_eq!(jobs.save_return(&jid, &id, &ret).unwrap(), Saved::Stored);
        }
        // Nobody else has used the connection.
        let ask = "select generic_plans, custom_plans from pg_prepared_statements \
                   where statement like '%insert into halite_returns%' and generic_plans >= 0";
        let (kept, anew): (i64, i64) = jobs
            .run(async move |postgres| {
                let row = postgres.row(ask, &[]).await?;
                let row = row.ok_or_else(|| Failure::Answer("no statement".to_owned()))?;
                Ok((row.try_get(0)?, row.try_get(1)?))
            })
            .unwrap();
        assert_eq!(kept + anew, 20);
        assert!(anew <= PLANNED_ANEW_MAX, "planned anew {anew} times");
    }
}
