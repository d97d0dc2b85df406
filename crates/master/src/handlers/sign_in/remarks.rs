//! Log lines about sign-ins.
//!
//! Invariant: lines that anybody can cause have a budget for each address, and show
//! only a few characters of what was sent.

use halite_proto::shown::quoted;

use super::{Filing, KnownKey, SignIn, Verdict};
use crate::core::history::Change;
use crate::limits::SHOWN_CHARS_MAX;

impl SignIn<'_> {
    pub(super) fn log(&self, verdict: Verdict, filing: Option<Filing>, known: KnownKey) {
        let id = &self.request.id;
        if let Some(why) = refusal(verdict, filing) {
            let histories = &self.parts.fleet.attendance.histories;
            histories.record(id, Change::Refused(why));
        }
        match (verdict, filing) {
            (Verdict::Granted, None) => {
                let telemetry = self.parts.telemetry;
                if telemetry.may_log_accepted(id.as_str(), "signed in") {
                    tracing::info!(minion = %id, "signed in");
                }
                return;
            }
            (Verdict::Granted, Some(_)) => {
                return tracing::info!(
                    minion = %id,
                    "signed in; the key was accepted automatically"
                );
            }
            (Verdict::Pending, None) => {
                return tracing::debug!(minion = %id, "the key is still pending");
            }
            _ => {}
        }
        // All the rest is for anybody to cause.
        let what = match verdict {
            Verdict::Granted | Verdict::Pending => "pending",
            // Who waits itself is for anybody to name: that hides nothing of
            // those that are accepted.
            Verdict::Refused if filing == Some(Filing::Denied) => match known {
                KnownKey::Accepted { .. } => "denied",
                _ => "denied, waiting",
            },
            Verdict::Refused => "refused",
            Verdict::BadId => "id",
            Verdict::Full => "full",
            Verdict::BadEncAlgo | Verdict::BadSigAlgo => "algorithm",
        };
        if self.parts.may_log(id.as_str(), what) {
            self.remark(what);
        }
    }

    fn remark(&self, what: &'static str) {
        let id = &self.request.id;
        let from = self.parts.from;
        match what {
            "pending" => {
                tracing::info!(minion = %id, %from, "a new key waits to be accepted (salt-key -a {id})");
            }
            "denied" | "denied, waiting" => tracing::error!(
                minion = %id,
                %from,
                "denied: the minion signs in with a key that differs from the known one; if it was \
                 reinstalled, delete the known key (salt-key -d {id})"
            ),
            "refused" => {
                tracing::warn!(minion = %id, %from, "refused: the key is rejected or unusable");
            }
            "id" => tracing::warn!(
                minion = %id,
                %from,
                "refused: {} (wide_minion_ids, docs/differences.md)",
                self.parts.keys.settings.new_ids.check(id).err().unwrap_or_default()
            ),
            "full" => tracing::warn!(minion = %id, "refused: max_minions is reached"),
            _ => tracing::warn!(
                minion = %id,
                enc_algo = quoted(&self.request.enc_algo, SHOWN_CHARS_MAX),
                sig_algo = quoted(&self.request.sig_algo, SHOWN_CHARS_MAX),
                "refused: the minion asks for an unknown algorithm"
            ),
        }
    }
}

/// Why a sign-in is not granted, as `minions.history` says it.
fn refusal(verdict: Verdict, filing: Option<Filing>) -> Option<&'static str> {
    match verdict {
        Verdict::Granted => None,
        Verdict::Pending => Some("the key waits to be accepted"),
        Verdict::Refused if filing == Some(Filing::Denied) => {
            Some("the key differs from the known one")
        }
        Verdict::Refused => Some("the key is rejected or unusable"),
        Verdict::BadId => Some("no new minion may have this id"),
        Verdict::Full => Some("max_minions is reached"),
        Verdict::BadEncAlgo | Verdict::BadSigAlgo => {
            Some("the minion asks for an unknown algorithm")
        }
    }
}
