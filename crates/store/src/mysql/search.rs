//! Lists jobs: a page at a time, the newest first. The loads are text here; the
//! database searches names in it, and this side decides which jobs match.

use halite_proto::{Jid, Map};

use super::jobs::Jobs;
use crate::error::StoreError;
use crate::job_filter::JobFilter;
use crate::stored_jobs::{Page, like, search};

/// Loads longer than `LISTED_LOAD_BYTES_MAX` are not fetched.
const SEARCH: &str = "
select jids.jid, if(octet_length(job.`load`) <= 65536, job.`load`, null),
    if(job.`load` is null and octet_length(jids.`load`) <= 65536, jids.`load`, null)
from jids left join halite_jobs job on job.jid = jids.jid
where (? is null or jids.jid >= ?) and (? is null or jids.jid <= ?)
    and (? is null or jids.jid < ?)
    and (? is null or json_value(jids.`load`, '$.user') = ?
        or json_type(json_extract(jids.`load`, '$.user')) = 'ARRAY')
    {FUNCTIONS} {TARGETS}
order by jids.jid desc limit {PAGE}";

impl Jobs {
    pub(crate) fn newest_picked<T>(
        &self,
        max: usize,
        filter: &JobFilter,
        pick: impl FnMut(Jid, Map) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let page = |filter: &JobFilter, before, rows| self.page(filter, before, rows);
        search(max, filter, pick, (page, |jid: &Jid| self.load_alone(jid)))
    }

    fn page(
        &self,
        filter: &JobFilter,
        before: Option<String>,
        rows: usize,
    ) -> Result<Page, StoreError> {
        let statement = SEARCH
            .replace("{FUNCTIONS}", &any_like("fun", filter.functions.len()))
            .replace("{TARGETS}", &any_like("tgt", filter.targets.len()))
            .replace("{PAGE}", &rows.to_string());
        let mut arguments = Vec::new();
        for text in [&filter.since, &filter.until, &before, &filter.user] {
            arguments.extend([text.into(), text.into()]);
        }
        let globs = filter.functions.iter().chain(&filter.targets);
        arguments.extend(globs.map(|glob| like(glob).into()));
        self.run(async move |mysql| mysql.rows(statement, arguments).await)
    }
}

/// The condition that a field is a list, or matches one of this many patterns.
fn any_like(field: &str, patterns: usize) -> String {
    if patterns == 0 {
        return String::new();
    }
    let one = format!("json_value(jids.`load`, '$.{field}') like ?");
    let any = vec![one; patterns].join(" or ");
    format!("and ({any} or json_type(json_extract(jids.`load`, '$.{field}')) = 'ARRAY')")
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
