//! Hands the minions of a master over to the others of its cluster, on command or
//! when the master is stopped.
//!
//! Invariant: the balancer learns that this master is not ready before any minion
//! is turned away, and requests are served all the while. A minion loses only its
//! subscription, finds another master behind the same address, and asks there for
//! the jobs that it has missed.

use std::sync::Arc;
use std::time::Duration;

use halite_transport::fleet::PublishPort;
use tokio::time::{sleep, timeout};

use super::health::Health;
use crate::cluster::Cluster;
use crate::cluster::drain::Stage;
use crate::cluster::message::Message;
use crate::fleet::Fleet;
use crate::limits::{HAND_OVER_LOOK, HAND_OVER_MAX};

/// What handing over takes.
pub(super) struct HandOver {
    pub(super) cluster: Arc<Cluster>,
    pub(super) fleet: Arc<Fleet>,
    pub(super) health: Health,
    pub(super) publish_port: PublishPort,
    /// `health_port` is set.
    pub(super) has_health_page: bool,
}

impl HandOver {
    /// Waits until somebody asks for it, and does it.
    pub(super) async fn when_asked(&self) {
        self.cluster.drain.reached(Stage::Asked).await;
        self.hand_over().await;
    }

    /// Asks for it, and waits until it is done, or should be.
    pub(super) async fn ask(&self) {
        self.cluster.drain.ask();
        let done = self.cluster.drain.reached(Stage::HandedOver);
        // As long as it takes, and a second for a busy machine.
        let wait_max = self.cluster.settings.drain_time + HAND_OVER_MAX + Duration::from_secs(1);
        if timeout(wait_max, done).await.is_err() {
            tracing::error!("stopping before all minions are handed over");
        }
    }

    async fn hand_over(&self) {
        self.health.unready().await;
        self.cluster.tell(&Message::Drains);
        let notice = match self.has_health_page && !self.cluster.living().is_empty() {
            true => self.cluster.settings.drain_time,
            // Whoever looks by connecting hears of it when the port closes; and where no
            // other master is connected, nobody can go anywhere.
            false => Duration::ZERO,
        };
        tracing::info!("handing the minions over to the other masters in {notice:?}");
        sleep(notice).await;
        self.cluster.tell(&Message::HandsOver);
        self.publish_port.hand_over();
        let all_gone = async {
            while !self.fleet.attendance.here().is_empty() {
                sleep(HAND_OVER_LOOK).await;
            }
        };
        if timeout(HAND_OVER_MAX, all_gone).await.is_err() {
            let left = self.fleet.attendance.here().len();
            tracing::warn!(
                left,
                "minions are still connected {HAND_OVER_MAX:?} after the hand-over began"
            );
        }
        self.cluster.drain.finish();
        tracing::info!("all minions are handed over");
    }
}
