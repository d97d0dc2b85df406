//! Audiences on ZeroMQ's wire.
//!
//! With `zmq_filtering` Salt puts a topic before a publication: the hex digits of
//! the SHA-1 of a minion's id, `broadcast`, or `syndic` (`salt/transport/zeromq.py`
//! of 3006 to 3008).

use halite_crypto::{HashType, hash_hex};

use crate::contract::{Audience, PublishPortOptions, SubscribeOptions};

/// Topic of publications that are not for single minions.
const BROADCAST: &[u8] = b"broadcast";

/// Topic that syndics listen to besides.
const SYNDIC: &[u8] = b"syndic";

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
    match (options.filtering, minion) {
        (false, _) => vec![Vec::new()],
        (true, None) => vec![BROADCAST.to_vec()],
        (true, Some(id)) => vec![BROADCAST.to_vec(), topic_of_minion(id.as_str())],
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::MinionId;

    use super::*;

    /// `web1` according to `sha1sum`.
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
        let of = |filtering| {
            wanted_topics(&SubscribeOptions {
                minion: Some(MinionId::parse("web1").unwrap()),
                filtering,
                ..SubscribeOptions::default()
            })
        };
        assert_eq!(of(false), [Vec::<u8>::new()]);
        assert_eq!(of(true), [b"broadcast".to_vec(), WEB1.to_vec()]);
    }
}
