//! Which workers answer a request, so that a burst of sign-ins, which cost a
//! private-key operation each, does not delay everything else, and requests of a whole
//! fleet do not delay commands.
//!
//! Invariant: the decoded request decides. A guess from the packed bytes only chooses
//! which worker decodes them, and no request in the clear is decoded among those of
//! minions.

use halite_proto::clear::ClearCommand;
use halite_proto::envelope::RequestEnvelope;
use halite_proto::limits::Limits;
use halite_proto::msgpack::{entry, text};

/// Which workers answer a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Sign-ins of minions.
    SignIn,
    /// Requests with a user's password.
    Logins,
    /// Requests with a token that other masters of the cluster may know.
    Tokens,
    /// Everything else in the clear: commands of this machine's programs.
    Control,
    /// Sealed requests of minions.
    General,
}

/// Limits for looking into a packed request. An encrypted one has a dozen values, and a
/// sign-in a few dozen. One with more is in the clear.
const LOOK: Limits = Limits {
    items_max: 256,
    ..Limits::ENVELOPE
};

/// The lane whose workers decode a request.
pub fn lane_of_packed(payload: &[u8]) -> Lane {
    let named = |map, key| entry(map, key, LOOK);
    let cmd = || in_load(payload, "cmd");
    match named(payload, "enc").and_then(text) {
        Some("aes") => Lane::General,
        Some("clear") if cmd() == Some("_auth") => Lane::SignIn,
        _ => Lane::Control,
    }
}

/// The key of a local user in a packed command, if the command is small enough to be
/// looked into; nobody has checked it.
pub fn key_of_packed(payload: &[u8]) -> Option<&str> {
    in_load(payload, "key")
}

fn in_load<'p>(payload: &'p [u8], key: &str) -> Option<&'p str> {
    entry(entry(payload, "load", LOOK)?, key, LOOK).and_then(text)
}

/// The lane of a decoded request; `None` for a clear one, whose command decides.
pub fn lane_of_envelope(envelope: &RequestEnvelope) -> Option<Lane> {
    match envelope {
        RequestEnvelope::Clear { .. } => None,
        RequestEnvelope::Aes { .. } => Some(Lane::General),
    }
}

/// The lane of a command in the clear.
pub fn lane_of_command(command: &ClearCommand) -> Lane {
    match command {
        ClearCommand::Auth(_) | ClearCommand::AuthBadId(_) => Lane::SignIn,
        command if command.logs_in() => Lane::Logins,
        _ => Lane::Control,
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::msgpack::pack_wire;
    use halite_proto::{Map, Value};
    use proptest::prelude::*;

    use super::*;

    fn packed(load: Map) -> [Vec<u8>; 2] {
        let first = Map::from([("enc", Value::from("clear")), ("load", load.clone().into())]);
        let last = Map::from([("load", Value::from(load)), ("enc", "clear".into())]);
        [first, last].map(|map| pack_wire(&map.into()).unwrap())
    }

    #[test]
    fn a_sign_in_is_one_in_whatever_order_it_is_written() {
        for payload in packed(Map::from([("id", "web1"), ("cmd", "_auth")])) {
            assert_eq!(lane_of_packed(&payload), Lane::SignIn);
        }
        let hidden = Map::from([("cmd", "ping"), ("x", "\u{a3}enc\u{a5}clear\u{a3}cmd_auth")]);
        for payload in packed(hidden) {
            assert_eq!(lane_of_packed(&payload), Lane::Control);
        }
        for junk in [
            &b""[..],
            b"\x86\xa3enc\xa3aes\xa4load",
            b"\xdf\xff\xff\xff\xff",
        ] {
            assert_eq!(lane_of_packed(junk), Lane::Control);
        }
    }

    #[test]
    fn only_what_is_sealed_is_decoded_among_the_requests_of_minions() {
        let ids: Vec<Value> = (0..10_000).map(|n| format!("web{n}").into()).collect();
        let publish = Map::from([("cmd", Value::from("publish")), ("tgt", ids.into())]);
        for payload in packed(publish) {
            assert_eq!(lane_of_packed(&payload), Lane::Control);
        }
        let id = halite_proto::MinionId::parse("web1").unwrap();
        let sealed = RequestEnvelope::aes(vec![7; 4096], id, "OAEP-SHA1", "PKCS1v15-SHA1");
        assert_eq!(lane_of_packed(&sealed.encode().unwrap()), Lane::General);
    }

    #[test]
    fn a_key_is_found_only_where_it_belongs() {
        let load = Map::from([("cmd", "publish"), ("key", "k"), ("tgt", "*")]);
        for payload in packed(load) {
            assert_eq!(key_of_packed(&payload), Some("k"));
        }
        let inner = Value::from(Map::from([("key", "k")]));
        let deeper = Map::from([("cmd", Value::from("publish")), ("kwargs", inner)]);
        for payload in packed(deeper) {
            assert_eq!(key_of_packed(&payload), None);
        }
        assert_eq!(key_of_packed(b"\xdf\xff\xff\xff\xff"), None);
    }

    /// How a text, a list or a map may begin: the shortest form, or one with a
    /// length of one, two or four bytes.
    type Form = usize;

    fn write_length(out: &mut Vec<u8>, length: usize, form: Form, marks: (u8, u8, [u8; 3])) {
        let (short, short_max, long) = marks;
        let length = u32::try_from(length).unwrap();
        let [.., high, low] = length.to_be_bytes();
        match form % 4 {
            0 if length <= u32::from(short_max) => out.push(short | low),
            0 | 1 if length <= 255 && long[0] != 0 => out.extend([long[0], low]),
            0..3 => out.extend([long[1], high, low]),
            _ => {
                out.push(long[2]);
                out.extend(length.to_be_bytes());
            }
        }
    }

    fn write_text(out: &mut Vec<u8>, text: &str, form: Form) {
        // Texts as bytes, too: what Python writes without `use_bin_type` is read so.
        let marks = match form / 4 % 3 {
            0 | 1 => (0xa0, 31, [0xd9, 0xda, 0xdb]),
            _ => (0, 0, [0xc4, 0xc5, 0xc6]),
        };
        let form = if marks.1 == 0 { form % 3 + 1 } else { form };
        write_length(out, text.len(), form, marks);
        out.extend(text.bytes());
    }

    /// Packs a map of texts, the one map in it included, in forms that are drawn.
    fn write(entries: &[(String, Entry)], forms: &mut dyn Iterator<Item = Form>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut next = || forms.next().unwrap();
        write_length(&mut out, entries.len(), next(), (0x80, 15, [0, 0xde, 0xdf]));
        for (name, entry) in entries {
            write_text(&mut out, name, next());
            match entry {
                Entry::Text(text) => write_text(&mut out, text, next()),
                Entry::Inner(inner) => out.extend(write(inner, &mut next_of(&mut next))),
            }
        }
        out
    }

    fn next_of<'a>(next: &'a mut dyn FnMut() -> Form) -> impl Iterator<Item = Form> + 'a {
        std::iter::from_fn(move || Some(next()))
    }

    #[derive(Clone, Debug)]
    enum Entry {
        Text(String),
        Inner(Vec<(String, Self)>),
    }

    /// Entries in any order, beside others that mean nothing; of two with one
    /// name either may be the one that counts.
    fn shuffled(known: Vec<(String, Entry)>) -> impl Strategy<Value = Vec<(String, Entry)>> {
        let name = prop_oneof![3 => "[a-z]{0,40}", 1 => "(enc|cmd|load|id|pub)"];
        let value = prop_oneof![
            "[a-z_]{0,300}",
            Just("_auth".to_owned()),
            Just("clear".to_owned())
        ];
        let other = (name, value).prop_map(|(name, text)| (name, Entry::Text(text)));
        prop::collection::vec(other, 0..20).prop_flat_map(move |mut all| {
            all.extend(known.clone());
            Just(all).prop_shuffle()
        })
    }

    fn texts(pairs: &[(&str, &str)]) -> Vec<(String, Entry)> {
        let entry = |&(name, text): &(&str, &str)| (name.to_owned(), Entry::Text(text.to_owned()));
        pairs.iter().map(entry).collect()
    }

    fn requests() -> impl Strategy<Value = Vec<(String, Entry)>> {
        let cmd = prop_oneof![4 => Just("_auth"), 1 => Just("ping"), 1 => Just("publish")];
        let load = cmd.prop_flat_map(|cmd| {
            shuffled(texts(&[
                ("cmd", cmd),
                ("id", "web1"),
                ("pub", "x"),
                ("nonce", "n"),
            ]))
        });
        load.prop_flat_map(|load| {
            let mut known = texts(&[("enc", "clear")]);
            known.push(("load".to_owned(), Entry::Inner(load)));
            shuffled(known)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// However a request is written: who decodes it first hands it on to its
        /// lane, or it is there; and what has no name twice is there at once.
        #[test]
        fn a_sign_in_ends_in_its_lane_however_it_is_packed(
            request in requests(),
            forms in prop::collection::vec(0..24_usize, 1..40),
        ) {
            let packed = write(&request, &mut forms.iter().copied().cycle());
            let Ok(envelope) = RequestEnvelope::decode(&packed) else {
                return Ok(());
            };
            let lane = lane_of_envelope(&envelope).or_else(|| match envelope {
                RequestEnvelope::Clear { load, .. } => {
                    let is_sign_in = load.get("cmd") == Some(&"_auth".into());
                    let lane = lane_of_command(&ClearCommand::from_map(load).ok()?);
                    assert_eq!(lane == Lane::SignIn, is_sign_in);
                    Some(lane)
                }
                RequestEnvelope::Aes { .. } => None,
            });
            let names = |entries: &[(String, Entry)]| {
                let mut names: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
                names.sort_unstable();
                names.windows(2).all(|pair| pair[0] != pair[1])
            };
            let inner = request.iter().find_map(|(_, entry)| match entry {
                Entry::Inner(inner) => Some(inner),
                Entry::Text(_) => None,
            });
            let is_plain = names(&request) && inner.is_some_and(|inner| names(inner));
            if is_plain && let Some(lane) = lane {
                // Only the decoded command tells who logs in, and who signs in as nobody does.
                let likely = if lane == Lane::SignIn { lane } else { Lane::Control };
                prop_assert!([likely, Lane::Control].contains(&lane_of_packed(&packed)));
            }
        }
    }

    #[test]
    fn the_command_decides() {
        let command = |load| ClearCommand::from_map(load).unwrap();
        let sign_in = Map::from([("cmd", "_auth"), ("id", "web1"), ("pub", "x")]);
        assert_eq!(lane_of_command(&command(sign_in)), Lane::SignIn);
        let bad_id = Map::from([("cmd", "_auth"), ("id", "../x"), ("pub", "x")]);
        assert_eq!(lane_of_command(&command(bad_id)), Lane::SignIn);
        let login = Map::from([("cmd", "mk_token"), ("eauth", "pam")]);
        assert_eq!(lane_of_command(&command(login)), Lane::Logins);
        let ping = Map::from([("cmd", "ping")]);
        assert_eq!(lane_of_command(&command(ping)), Lane::Control);
        let publish = Map::from([("cmd", "publish"), ("fun", "test.ping"), ("key", "x")]);
        let mut publish = publish;
        publish.extend(Map::from([("tgt", "*"), ("tgt_type", "glob")]));
        assert_eq!(lane_of_command(&command(publish)), Lane::Control);
    }
}
