//! Storing events.

use super::JobTables;
use super::jobs::Jobs;
use crate::error::StoreError;
use crate::event_batch::Batch;

/// `$1` is the id of the batch, `$2` tags, `$3` data, `$4` seconds since 1970, `$5`
/// the master. A batch that is known is not stored again.
const SAVE_JSONB: &str = "
with new as (
    insert into halite_event_batches (id) values ($1) on conflict (id) do nothing returning id
)
insert into salt_events (tag, data, master_id, alter_time)
select tag, data::jsonb, $5, to_timestamp(at)
from unnest($2::text[], $3::text[], $4::float8[]) with ordinality as given (tag, data, at, number)
where exists (select from new)
order by number";

/// The same into a column of text.
const SAVE_TEXT: &str = "
with new as (
    insert into halite_event_batches (id) values ($1) on conflict (id) do nothing returning id
)
insert into salt_events (tag, data, master_id, alter_time)
select tag, data, $5, to_timestamp(at)
from unnest($2::text[], $3::text[], $4::float8[]) with ordinality as given (tag, data, at, number)
where exists (select from new)
order by number";

impl Jobs {
    pub(crate) fn save_events(&self, batch: &Batch, master: &str) -> Result<(), StoreError> {
        let save = match self.tables {
            JobTables::Jsonb => SAVE_JSONB,
            JobTables::Text => SAVE_TEXT,
        };
        let (batch, master) = (batch.clone(), master.to_owned());
        self.run(async move |postgres| {
            let Batch {
                id,
                tags,
                data,
                times,
            } = &batch;
            postgres
                .execute(save, &[id, tags, data, times, &master])
                .await?;
            Ok(())
        })
    }
}
