//! The clear `halite.batch`: a job for a few minions at a time, which goes on
//! after the program that asked for it has ended (`salt --async -b`).

use std::sync::Arc;
use std::time::Duration;

use halite_gather::batch::BatchSize;
use halite_proto::clear::{BatchRequest, PublishReply};

use crate::batches::{self, Batches, Plan};
use crate::error::chain;
use crate::publishing::{Published, Publishing};

/// Judges the request as one that is published at once, and starts it.
pub(crate) fn start(
    publishing: &Publishing,
    batches: &Arc<Batches>,
    request: &BatchRequest,
) -> Published {
    let Some(size) = BatchSize::parse(&request.size) else {
        let text = format!(
            "Invalid batch data sent: {}\nData must be in the form of %10, 10% or 3",
            request.size
        );
        return PublishReply::Error(text).into();
    };
    let judged = match publishing.judge(&request.publish) {
        Ok(judged) => *judged,
        Err(refused) => return refused,
    };
    let (minions, missing) = (
        judged.resolved.minions.clone(),
        judged.resolved.missing.clone(),
    );
    let plan = Plan {
        wait: Duration::try_from_secs_f64(request.wait_s).unwrap_or(Duration::ZERO),
        failhard: request.failhard,
        ..Plan::new(judged.request, judged.resolved.minions, size)
    };
    match batches::start(batches, plan) {
        Ok(jid) => PublishReply::Accepted {
            jid,
            minions,
            missing,
            is_ours: false,
            trouble: None,
        },
        Err(error) => {
            let text = chain(&error);
            tracing::error!("could not start a job in batches: {text}");
            PublishReply::Error(text)
        }
    }
    .into()
}
