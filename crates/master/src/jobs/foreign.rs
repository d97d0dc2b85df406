//! Returns of other masters' jobs whose ids belong to other jobs of this master.

use halite_proto::returns::JobReturn;
use halite_proto::{Jid, Value};

use super::Jobs;
use crate::core::jobs::is_of_another;
use crate::error::chain;

impl Jobs {
    /// Whether a return, which says who has drawn the id of its job, belongs to
    /// another master's job although this one has a job of that id.
    pub(crate) fn is_of_another(
        &self,
        jid: &Jid,
        drawn_by: Option<&Value>,
        job: &JobReturn,
    ) -> bool {
        let Some(drawn_by) = drawn_by.and_then(Value::as_str) else {
            return false;
        };
        if drawn_by == self.publisher.to_string() {
            return false;
        }
        match self.cache.load(jid) {
            Ok(load) => load.is_some_and(|own| is_of_another(&own, drawn_by, job)),
            Err(error) => {
                if self.telemetry.may_log("job cache", "who published") {
                    tracing::error!(
                        %jid,
                        "could not read who published the job: {}",
                        chain(&error)
                    );
                }
                false
            }
        }
    }
}
