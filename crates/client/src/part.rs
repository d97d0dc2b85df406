//! One part of a job in batches.

use std::collections::BTreeSet;
use std::time::Duration;

use halite_gather::words;
use tokio::sync::mpsc;

use super::{ClientError, Job, LocalClient, Report};

/// Sends the job to a few minions and reports each of them once.
///
/// # Errors
/// When the job cannot be sent, or what comes of it cannot be heard.
pub async fn report_part(
    client: &LocalClient,
    job: Job,
    ids: Vec<String>,
    timeout: Duration,
    reports: mpsc::Sender<Report>,
) -> Result<(), ClientError> {
    let mut left: BTreeSet<String> = ids.into_iter().collect();
    if let Some(mut session) = client.start(&job, timeout).await? {
        // Other parts have the same job id; their returns are theirs.
        while let Some(report) = session.next().await? {
            if left.remove(report.id()) && reports.send(report).await.is_err() {
                return Ok(());
            }
        }
    }
    for id in left {
        let text = words::NOT_CONNECTED.to_owned();
        if reports.send(Report::Missing { id, text }).await.is_err() {
            break;
        }
    }
    Ok(())
}
