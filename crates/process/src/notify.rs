//! Reports readiness and the end to systemd. Without `NOTIFY_SOCKET` it does nothing.

use sd_notify::NotifyState;

/// The daemon listens and takes work.
pub fn ready() {
    send(&[NotifyState::Ready]);
}

/// The daemon ends in order.
pub fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// One line for `systemctl status`.
pub fn status(text: &str) {
    send(&[NotifyState::Status(text)]);
}

fn send(states: &[NotifyState<'_>]) {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return;
    }
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "could not notify the service manager");
    }
}
