//! Why minions are silent, as far as the master knows.

use std::collections::BTreeMap;
use std::time::Duration;

use halite_gather::words;
use halite_process::clock::unix_micros;
use halite_proto::clear::{Connection, Standing, StandingReply, StandingRequest};
use halite_proto::time::stamp;
use halite_proto::{Jid, Map};

use super::LocalClient;

/// How long the master has to say what it knows. It knows it at once, or is too
/// busy to matter.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a minion may be without its connection before nobody waits for it:
/// it may be connecting again, and gets the job then. A Halite minion, which is
/// known to be away, takes less than a second for that, also with a master that
/// was restarted.
const RECONNECT_GRACE: Duration = Duration::from_secs(2);

/// What the master has said of minions.
#[derive(Clone, Debug, Default)]
pub(super) struct Silence {
    standings: BTreeMap<String, Standing>,
    asked_micros: u64,
    /// The returns that were asked for, by job and minion.
    pub(super) returns: Map,
}

impl LocalClient {
    /// Asks the master about minions; `None` where it does not know the
    /// question, as Salt's masters.
    /// `about` is the job that is waited for.
    pub(super) async fn ask_silence(
        &self,
        ids: Vec<String>,
        jids: Vec<Jid>,
        about: Jid,
    ) -> Option<Silence> {
        let request = StandingRequest {
            credentials: self.credentials(),
            user: Some(self.caller.name.clone()),
            minions: ids,
            jids,
            about: Some(about),
        };
        let answer = self.ask_clear(request.to_map(), ANSWER_TIMEOUT).await;
        let reply = answer.map(StandingReply::from_value);
        match reply {
            Ok(Ok(Some(reply))) => Some(Silence {
                standings: reply
                    .minions
                    .into_iter()
                    .map(|(id, standing)| (id.to_string(), standing))
                    .collect(),
                asked_micros: unix_micros(),
                returns: reply.returns,
            }),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => {
                tracing::debug!("the master's answer is not what this request expects: {error}");
                None
            }
            Err(error) => {
                tracing::debug!("the master does not say who is connected: {error}");
                None
            }
        }
    }
}

impl Silence {
    /// The minions that are not waited for: they are gone for so long, or their
    /// result is somewhere else.
    pub(super) fn gone(&self) -> impl Iterator<Item = String> {
        let grace = u64::try_from(RECONNECT_GRACE.as_micros()).unwrap_or(u64::MAX);
        let before = self.asked_micros.saturating_sub(grace);
        self.standings
            .iter()
            .filter(move |(_, standing)| {
                let is_away = match standing.connection {
                    Connection::Away(since) => since <= before,
                    Connection::Absent => true,
                    _ => false,
                };
                is_away || standing.result_at.is_some()
            })
            .map(|(id, _)| id.clone())
    }

    /// Why minions are silent, in a word or two; nothing of those that have the
    /// job and may be working.
    pub(super) fn reasons(&self) -> BTreeMap<String, &'static str> {
        let reason = |standing: &Standing| {
            if standing.result_at.is_some() {
                return Some("result at another master");
            }
            match (standing.key.as_deref(), &standing.connection) {
                (None, _) => Some("never seen"),
                (Some("pending" | "rejected" | "denied"), _) => Some("key not accepted"),
                (_, Connection::Away(_) | Connection::Absent | Connection::PerhapsAway) => {
                    Some("not connected")
                }
                _ => None,
            }
        };
        let standings = self.standings.iter();
        standings
            .filter_map(|(id, standing)| Some((id.clone(), reason(standing)?)))
            .collect()
    }

    /// What to say of a minion that did not return; `None` where nothing is
    /// known of it.
    pub(super) fn text(&self, id: &str, jid: &Jid) -> Option<String> {
        let standing = self.standings.get(id)?;
        let begin = words::DID_NOT_RETURN;
        if let Some(master) = &standing.result_at {
            return Some(format!(
                "{begin} [Result at another master]\nIt could not reach this master in time and \
                 gave its result to {master}; there, the following shows it:\n\nsalt-run \
                 jobs.lookup_jid {jid}"
            ));
        }
        let text = match standing.key.as_deref() {
            None => {
                format!("{begin} [Never seen]\nThis master has no key of a minion with this id.")
            }
            Some("pending") => format!(
                "{begin} [Key not accepted]\nIts key waits to be accepted: salt-key -a {id}"
            ),
            Some(state @ ("rejected" | "denied")) => {
                format!("{begin} [Key not accepted]\nIts key is {state}.")
            }
            Some(_) => self.connection_text(standing, jid),
        };
        match standing.clones.is_empty() {
            true => Some(text),
            false => Some(format!(
                "{text}\nSeveral machines use its id and key at once: {}.",
                standing.clones.join(", ")
            )),
        }
    }

    /// What to say of a silent minion whose key is accepted.
    fn connection_text(&self, standing: &Standing, jid: &Jid) -> String {
        match standing.connection {
            Connection::Away(_) | Connection::Absent | Connection::PerhapsAway
                if let Some(at) = standing.distrusts_since =>
            {
                format!(
                    "{}\nThe last sign-in in its name ({} ago) was for the key of another \
                     master. It may trust that one only, and take no jobs from this one: \
                     `salt-minion status` there shows both keys.",
                    words::NOT_CONNECTED,
                    span(self.asked_micros.saturating_sub(at)),
                )
            }
            Connection::Away(since) => format!(
                "{}\nIt has no connection to this master since {} ({} ago). It gets the job \
                 if it comes back in time.",
                words::NOT_CONNECTED,
                moment(since),
                span(self.asked_micros.saturating_sub(since)),
            ),
            Connection::Here(since) => format!(
                "{}\n\nIt is connected{} since {} and was sent the job; it has not said that \
                 it still runs.",
                words::no_response(jid),
                standing
                    .at
                    .as_ref()
                    .map(|at| format!(" to {at}"))
                    .unwrap_or_default(),
                moment(since)
            ),
            Connection::Absent => format!(
                "{}\nNone of this master's connections is its.",
                words::NOT_CONNECTED
            ),
            Connection::PerhapsAway => words::NOT_CONNECTED.to_owned(),
            Connection::PerhapsHere | Connection::Unknown => words::no_response(jid),
        }
    }
}

/// A moment without its fraction of a second.
fn moment(micros: u64) -> String {
    const SECOND: u64 = 1_000_000;
    let text = stamp(micros / SECOND * SECOND, false);
    format!("{} UTC", text.replace('T', " "))
}

/// A span of time in its largest unit.
fn span(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_795_000_000_000_000;

    fn silence(key: Option<&str>, connection: Connection) -> Silence {
        let standing = Standing {
            key: key.map(str::to_owned),
            connection,
            at: None,
            result_at: None,
            distrusts_since: None,
            clones: Vec::new(),
        };
        Silence {
            standings: BTreeMap::from([("web1".to_owned(), standing)]),
            asked_micros: NOW,
            returns: Map::new(),
        }
    }

    fn text(key: Option<&str>, connection: Connection) -> String {
        let jid = Jid::parse("20261120141841939742").unwrap();
        silence(key, connection).text("web1", &jid).unwrap()
    }

    #[test]
    fn reasons_are_told_while_one_waits() {
        let reason = |key, connection| silence(key, connection).reasons().remove("web1");
        let accepted = Some("accepted");
        assert_eq!(reason(None, Connection::Unknown), Some("never seen"));
        assert_eq!(
            reason(Some("pending"), Connection::Unknown),
            Some("key not accepted")
        );
        assert_eq!(
            reason(accepted, Connection::Away(NOW)),
            Some("not connected")
        );
        assert_eq!(reason(accepted, Connection::Absent), Some("not connected"));
        assert_eq!(reason(accepted, Connection::Here(NOW)), None);
    }

    #[test]
    fn each_reason_has_its_words() {
        let unknown = Connection::Unknown;
        assert!(text(None, unknown).starts_with("Minion did not return. [Never seen]\n"));
        let pending = text(Some("pending"), unknown);
        assert!(pending.ends_with("salt-key -a web1"), "{pending}");
        assert!(text(Some("denied"), unknown).contains("[Key not accepted]\nIts key is denied."));
        let mut here = silence(Some("accepted"), Connection::Here(NOW));
        here.standings.get_mut("web1").unwrap().at = Some("m2".to_owned());
        let jid = Jid::parse("20261120141841939742").unwrap();
        let here = here.text("web1", &jid).unwrap();
        assert!(
            here.contains("\n\nIt is connected to m2 since 20")
                && here.contains("was sent the job"),
            "{here}"
        );
        let away = text(Some("accepted"), Connection::Away(NOW - 12_345_678));
        assert_eq!(
            away,
            "Minion did not return. [Not connected]\nIt has no connection to this master since \
             2026-11-18 11:06:27 UTC (12 s ago). It gets the job if it comes back in time."
        );
        // Of a minion that never showed its connection no moment is known, and
        // none of Salt's hears a job that it has missed.
        let absent = text(Some("accepted"), Connection::Absent);
        assert_eq!(
            absent,
            "Minion did not return. [Not connected]\nNone of this master's connections is its."
        );
        let here = text(Some("accepted"), Connection::Here(NOW - 1));
        assert!(here.starts_with("Minion did not return. [No response]\nThe minions may"));
        assert!(
            here.contains("It is connected since 2026-11-18 11:06:39 UTC"),
            "{here}"
        );
        assert_eq!(
            text(Some("accepted"), Connection::PerhapsAway),
            "Minion did not return. [Not connected]"
        );
    }

    #[test]
    fn a_result_that_another_master_has_is_not_waited_for() {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let mut silence = silence(Some("accepted"), Connection::Here(1));
        assert_eq!(silence.gone().count(), 0);
        for standing in silence.standings.values_mut() {
            standing.result_at = Some("m2:4506".to_owned());
        }
        assert_eq!(silence.gone().count(), 1);
        assert_eq!(
            silence.text("web1", &jid).unwrap(),
            "Minion did not return. [Result at another master]\nIt could not reach this master \
             in time and gave its result to m2:4506; there, the following shows it:\n\nsalt-run \
             jobs.lookup_jid 20261120141841939742"
        );
    }

    #[test]
    fn a_minion_that_is_several_machines_is_told_as_such() {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let mut silence = silence(Some("accepted"), Connection::PerhapsAway);
        for standing in silence.standings.values_mut() {
            standing.clones = vec!["192.0.2.7".to_owned(), "192.0.2.8".to_owned()];
        }
        assert_eq!(
            silence.text("web1", &jid).unwrap(),
            "Minion did not return. [Not connected]\nSeveral machines use its id and key at \
             once: 192.0.2.7, 192.0.2.8."
        );
    }

    #[test]
    fn a_sign_in_proves_nothing_and_is_told_as_what_may_be() {
        let jid = Jid::parse("20261120141841939742").unwrap();
        let said = |connection| {
            let mut silence = silence(Some("accepted"), connection);
            for standing in silence.standings.values_mut() {
                standing.distrusts_since = Some(NOW - 60_000_000);
            }
            silence.text("web1", &jid).unwrap()
        };
        for away in [
            Connection::Away(1),
            Connection::Absent,
            Connection::PerhapsAway,
        ] {
            let text = said(away);
            assert!(text.contains("sign-in in its name (60 s ago)"), "{text}");
            assert!(text.contains("It may trust that one only"), "{text}");
        }
        assert!(!said(Connection::Here(1)).contains("another master"));
    }

    #[test]
    fn who_may_be_connecting_again_is_waited_for() {
        let gone = |ago: u64| {
            silence(Some("accepted"), Connection::Away(NOW - ago))
                .gone()
                .count()
        };
        assert_eq!(gone(1_000_000), 0);
        assert_eq!(gone(6_000_000), 1);
        let accepted = Some("accepted");
        let of_salt = silence(accepted, Connection::PerhapsAway);
        assert_eq!(of_salt.gone().count(), 0);
        assert_eq!(silence(accepted, Connection::Absent).gone().count(), 1);
        assert_eq!(silence(None, Connection::Here(1)).gone().count(), 0);
    }

    #[test]
    fn spans_are_told_in_their_largest_unit() {
        for (seconds, text) in [
            (5, "5 s"),
            (300, "5 min"),
            (7300, "2 h"),
            (200_000, "2 days"),
        ] {
            assert_eq!(span(seconds * 1_000_000), text);
        }
    }
}
