//! Storing events.

use halite_store_servers::MysqlValue;

use super::jobs::{Jobs, now_micros};
use super::marks;
use crate::error::StoreError;
use crate::event_batch::Batch;

impl Jobs {
    pub(crate) fn save_events(&self, batch: &Batch, master: &str) -> Result<(), StoreError> {
        let statement = format!(
            "insert into salt_events (tag, data, master_id, alter_time) values {}",
            vec!["(?, ?, ?, from_unixtime(?))"; batch.tags.len()].join(", ")
        );
        let rows = batch.tags.iter().zip(&batch.data).zip(&batch.times);
        let arguments: Vec<MysqlValue> = rows
            .flat_map(|((tag, data), at)| {
                let texts = [tag.into(), data.into(), master.into()];
                texts.into_iter().chain([MysqlValue::from(*at)])
            })
            .collect();
        let id = vec![MysqlValue::from(&batch.id), now_micros().into()];
        self.run(async move |mysql| {
            mysql
                .together(async |mysql| {
                    let know = format!(
                        "insert ignore into halite_event_batches (id, since) values {}",
                        marks(1, 2)
                    );
                    // A batch that is known is not stored again.
                    if mysql.execute(know, id).await? > 0 {
                        mysql.execute(statement, arguments).await?;
                    }
                    Ok(())
                })
                .await
        })
    }
}
