//! Whether this master hands its minions over to the others.

use tokio::sync::watch;

/// How far that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Minions are taken.
    Serving,
    /// `cluster.drain` was called.
    Asked,
    /// No minion is let in any more.
    HandedOver,
}

/// The place where it is asked for, and seen.
#[derive(Debug)]
pub(crate) struct Drain(watch::Sender<Stage>);

impl Default for Drain {
    fn default() -> Self {
        Self(watch::Sender::new(Stage::Serving))
    }
}

impl Drain {
    /// Asks for it; false if somebody has before.
    pub(crate) fn ask(&self) -> bool {
        self.reach(Stage::Asked)
    }

    /// It is done.
    pub(crate) fn finish(&self) {
        self.reach(Stage::HandedOver);
    }

    /// How far it is.
    pub(crate) fn stage(&self) -> Stage {
        *self.0.borrow()
    }

    /// Waits until it is so far.
    pub(crate) async fn reached(&self, stage: Stage) {
        let mut stages = self.0.subscribe();
        // Its sender is `self`.
        let _ = stages.wait_for(|now| *now >= stage).await;
    }

    fn reach(&self, stage: Stage) -> bool {
        self.0.send_if_modified(|now| {
            let is_new = *now < stage;
            *now = (*now).max(stage);
            is_new
        })
    }
}
