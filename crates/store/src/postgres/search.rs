//! Lists jobs: a page at a time, the newest first.

use halite_proto::{Jid, Map};
use halite_store_servers::{Failure, PostgresRow};

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::stored_jobs::{Page, like, search};

/// `$1` and `$2` are the ids from when to when, `$3` the id that the page comes
/// after, `$4` a user, `$5` and `$6` patterns of functions and targets, `$7` a
/// function that it is not, `$8` how many. A list of functions or targets is
/// looked at on this side. What is longer than `LISTED_LOAD_BYTES_MAX` is not in a page.
const SEARCH: &str = "
select jids.jid, case when octet_length(job.load) <= 65536 then job.load end,
    case when job.load is null and octet_length(jids.load::text) <= 65536
        then jids.load::text end
from jids left join halite_jobs job on job.jid = jids.jid
where ($1::text is null or jids.jid >= $1)
    and ($2::text is null or jids.jid <= $2)
    and ($3::text is null or jids.jid < $3)
    and ($4::text is null or jids.load::jsonb ->> 'user' = $4
        or jsonb_typeof(jids.load::jsonb -> 'user') = 'array')
    and ($5::text[] is null or jids.load::jsonb ->> 'fun' like any ($5)
        or jsonb_typeof(jids.load::jsonb -> 'fun') = 'array')
    and ($6::text[] is null or jids.load::jsonb ->> 'tgt' like any ($6)
        or jsonb_typeof(jids.load::jsonb -> 'tgt') = 'array')
    and ($7::text is null or jids.load::jsonb ->> 'fun' is distinct from $7)
order by jids.jid desc
limit $8";

impl Jobs {
    pub(crate) fn newest_picked<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let page = |filter: &JobFilter, before, rows| self.page(filter, before, rows);
        search(
            max,
            filter,
            pick,
            (page, |jid: &Jid| {
                Ok(self.load_and_minions(jid)?.map(|(load, _)| load))
            }),
        )
    }

    fn page(
        &self,
        filter: &JobFilter,
        before: Option<String>,
        rows: usize,
    ) -> Result<Page, StoreError> {
        let (since, until) = (filter.since.clone(), filter.until.clone());
        let (user, not) = (filter.user.clone(), filter.not_function.clone());
        let (functions, targets) = (likes(&filter.functions), likes(&filter.targets));
        let max = i64::try_from(rows).unwrap_or(i64::MAX);
        self.run(async move |postgres| {
            let rows = postgres
                .rows(
                    SEARCH,
                    &[
                        &since, &until, &before, &user, &functions, &targets, &not, &max,
                    ],
                )
                .await?;
            rows.iter().map(columns).collect()
        })
    }
}

type Columns = (String, Option<Vec<u8>>, Option<String>);

fn columns(row: &PostgresRow) -> Result<Columns, Failure> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
}

/// The patterns of LIKE that find at least what the globs find.
fn likes(globs: &[String]) -> Option<Vec<String>> {
    (!globs.is_empty()).then(|| globs.iter().map(|glob| like(glob)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LISTED_LOAD_BYTES_MAX;

    #[test]
    fn the_statement_has_the_limit() {
        assert_eq!(
            SEARCH
                .matches(&format!("<= {LISTED_LOAD_BYTES_MAX}"))
                .count(),
            2
        );
    }
}
