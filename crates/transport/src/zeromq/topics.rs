//! What audiences and presence are on ZeroMQ's wire.
//!
//! With `zmq_filtering` Salt puts a topic in front of a publication: the hex
//! digits of the SHA-1 of a minion's id, `broadcast`, or `syndic`
//! (`salt/transport/zeromq.py` of 3006 to 3008). Presence and pulse are
//! Halite's own and only between Halite peers.

use halite_crypto::{HashType, hash_hex};
use halite_proto::MinionId;

use crate::contract::{Audience, PublishPortOptions, SubscribeOptions};

/// Topic of publications that are not for single minions.
const BROADCAST: &[u8] = b"broadcast";

/// Topic that syndics listen to besides.
const SYNDIC: &[u8] = b"syndic";

/// Stands before the id in the topic of a minion's presence. Nothing is ever
/// published under it.
const PRESENCE: &[u8] = b"halite/minion/";

/// Stands before the id in a minion's pulse. Its first byte is neither 0 nor
/// 1, which are subscriptions.
const PULSE: &[u8] = b"halite/pulse/";

/// The topic of publications for one minion.
fn topic_of_minion(id: &str) -> Vec<u8> {
    hash_hex(HashType::Sha1, id.as_bytes()).into_bytes()
}

/// The topics under which a publication leaves; `None` for one without a
/// topic in front.
pub(super) fn topics_of(
    options: &PublishPortOptions,
    audience: Audience<'_>,
) -> Vec<Option<Vec<u8>>> {
    if !options.filtering {
        return vec![None];
    }
    let mut topics: Vec<_> = match audience {
        Audience::Everyone => return vec![Some(BROADCAST.to_vec())],
        Audience::Minions(ids) => ids.iter().map(|id| Some(topic_of_minion(id))).collect(),
    };
    if options.syndics {
        topics.push(Some(SYNDIC.to_vec()));
    }
    if topics.is_empty() {
        topics.push(None);
    }
    topics
}

/// The topics that a subscriber asks for; the empty one is all of them.
pub(super) fn wanted_topics(options: &SubscribeOptions) -> Vec<Vec<u8>> {
    let minion = options.minion.as_ref();
    let mut topics = match (options.filtering, minion) {
        (false, _) => vec![Vec::new()],
        (true, None) => vec![BROADCAST.to_vec()],
        (true, Some(id)) => vec![BROADCAST.to_vec(), topic_of_minion(id.as_str())],
    };
    if options.shows_presence {
        topics.extend(minion.map(presence_topic));
    }
    topics
}

/// The topic by which a minion shows that it is here.
fn presence_topic(id: &MinionId) -> Vec<u8> {
    [PRESENCE, id.as_str().as_bytes()].concat()
}

/// The minion whose presence a topic shows.
pub(super) fn minion_of_presence(topic: &[u8]) -> Option<MinionId> {
    minion_after(PRESENCE, topic)
}

/// What a minion says over its subscription while it is here.
pub(super) fn pulse_message(id: &MinionId) -> Vec<u8> {
    [PULSE, id.as_str().as_bytes()].concat()
}

/// The minion that a pulse is from.
pub(super) fn minion_of_pulse(message: &[u8]) -> Option<MinionId> {
    minion_after(PULSE, message)
}

fn minion_after(prefix: &[u8], bytes: &[u8]) -> Option<MinionId> {
    let id = std::str::from_utf8(bytes.strip_prefix(prefix)?).ok()?;
    MinionId::parse(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web1() -> MinionId {
        MinionId::parse("web1").unwrap()
    }

    /// `sha1sum` says so of `web1`.
    const WEB1: &[u8] = b"977588a87e10582032716712ccf5d85d18a5fccf";

    #[test]
    fn publications_have_the_topics_of_salt() {
        let ids = ["web1"];
        let of = |filtering, syndics, audience| {
            let options = PublishPortOptions {
                filtering,
                syndics,
                ..PublishPortOptions::default()
            };
            topics_of(&options, audience)
        };
        let minions = Audience::Minions(&ids);
        assert_eq!(of(false, true, minions), [None]);
        assert_eq!(of(false, true, Audience::Everyone), [None]);
        assert_eq!(of(true, false, minions), [Some(WEB1.to_vec())]);
        assert_eq!(
            of(true, true, minions),
            [Some(WEB1.to_vec()), Some(b"syndic".to_vec())]
        );
        let broadcast = [Some(b"broadcast".to_vec())];
        assert_eq!(of(true, true, Audience::Everyone), broadcast);
    }

    #[test]
    fn a_subscriber_asks_for_the_topics_of_salt() {
        let of = |filtering, shows_presence| {
            wanted_topics(&SubscribeOptions {
                minion: Some(web1()),
                filtering,
                shows_presence,
                ..SubscribeOptions::default()
            })
        };
        let presence = b"halite/minion/web1".to_vec();
        let broadcast = b"broadcast".to_vec();
        assert_eq!(of(false, false), [Vec::new()]);
        assert_eq!(of(false, true), [Vec::new(), presence.clone()]);
        assert_eq!(of(true, false), [broadcast.clone(), WEB1.to_vec()]);
        assert_eq!(of(true, true), [broadcast, WEB1.to_vec(), presence]);
    }

    #[test]
    fn presence_and_pulse_name_their_minion() {
        assert_eq!(minion_of_presence(&presence_topic(&web1())), Some(web1()));
        assert_eq!(minion_of_pulse(&pulse_message(&web1())), Some(web1()));
        for bytes in [
            &b""[..],
            b"broadcast",
            b"web1",
            b"halite/minion/",
            b"halite/minion/../x",
            b"halite/pulse/",
            b"halite/pulse/../x",
        ] {
            assert_eq!(minion_of_presence(bytes), None);
            assert_eq!(minion_of_pulse(bytes), None);
        }
    }
}
