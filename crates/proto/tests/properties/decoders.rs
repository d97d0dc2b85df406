//! Every decoder of the crate, for the properties here and for the fuzz targets
//! (`crates/fuzz`).
//!
//! A decoder may refuse its input; what it accepts has to survive being packed
//! and read again.

use std::fmt::Debug;

use halite_proto::auth::{AuthAnswer, AuthReply};
use halite_proto::clear::{ClearCommand, PublishReply};
use halite_proto::envelope::{Reply, RequestEnvelope};
use halite_proto::event::Event;
use halite_proto::json::{Style, write, write_packed};
use halite_proto::key_changes::{KEY_CHANGES, KEY_CHANGES_MAX, from_extra, to_value};
use halite_proto::msgpack::{
    Heads, Packing, Reading, Scanner, pack, packed_len, unpack, unpack_prefix, unpack_wire,
};
use halite_proto::pieces::PiecePosition;
use halite_proto::pillar::{PillarAnswer, PillarData, SignedPillar};
use halite_proto::publish::{Publication, PublishLoad};
use halite_proto::request::{FileChunk, FileFound, FileHash, PeerPublished, Request};
use halite_proto::stream::{Frame, FrameReader, Framing, frame_bare};
use halite_proto::{
    Jid, Map, MinionId, Nonce, Refusal, SaltEnv, SignOfLife, Tag, Value, limits, python,
    shown as show, time,
};

/// A decoder: its name and what is done with it.
pub(crate) type Decoder = (&'static str, fn(&[u8]));

/// All of them.
pub(crate) const DECODERS: &[Decoder] = &[
    ("values", values),
    ("prefixes", prefixes),
    ("envelope", envelope),
    ("reply", reply),
    ("request", request),
    ("answers", answers),
    ("clear_command", clear_command),
    ("publish_reply", publish_reply),
    ("auth_answer", auth_answer),
    ("auth_reply", auth_reply),
    ("publication", publication),
    ("publish_load", publish_load),
    ("pillar", pillar),
    ("event", event),
    ("frames", frames),
    ("names", names),
    ("presence", presence),
    ("pieces", pieces),
    ("key_changes", key_changes),
    ("shown", shown),
];

fn same<T: PartialEq + Debug>(again: T, first: T) {
    assert_eq!(again, first, "read again it is another");
}

fn values(bytes: &[u8]) {
    for reading in [Reading::Wire, Reading::Raw, Reading::Modern] {
        let Ok(value) = unpack(bytes, reading) else {
            continue;
        };
        let packing = match reading {
            Reading::Modern => Packing::Modern,
            Reading::Wire | Reading::Raw => Packing::Wire,
        };
        let packed = pack(&value, packing).expect("it was read within the limits");
        assert_eq!(packed.len(), packed_len(&value, packing));
        as_heads(&packed, reading, &value);
        same(unpack(&packed, reading).expect("it was just packed"), value);
    }
}

/// Who reads without building values finds the same.
fn as_heads(packed: &[u8], reading: Reading, value: &Value) {
    same(Heads::new(packed, reading).value(), Ok(packed));
    let mut json = String::new();
    let wrote = write_packed(&mut Heads::new(packed, reading), python::str, &mut json);
    let style = Style {
        default: Some(python::str),
        ..Style::default()
    };
    same(wrote.ok().map(|()| json), write(value, style).ok());
}

fn prefixes(bytes: &[u8]) {
    let whole = unpack_prefix(bytes, Reading::Modern);
    if let Ok(Some((value, end))) = &whole {
        same(
            &unpack(&bytes[..*end], Reading::Modern).expect("it is whole"),
            value,
        );
    }
    // In two pieces the end is the same.
    let mut scanner = Scanner::new(limits::Limits::MESSAGE);
    let first = scanner.scan(&bytes[..bytes.len() / 2]);
    if first == Ok(None) {
        same(
            scanner.scan(bytes),
            Scanner::new(limits::Limits::MESSAGE).scan(bytes),
        );
    }
}

fn envelope(bytes: &[u8]) {
    let _ = RequestEnvelope::decode_from(bytes, 3);
    match RequestEnvelope::decode(bytes) {
        Ok(envelope) => {
            let packed = envelope.encode().expect("it was read within the limits");
            same(RequestEnvelope::decode(&packed), Ok(envelope));
        }
        Err(error) => {
            let refusal = error.refusal();
            let packed = pack(&refusal.to_value(), Packing::Wire).expect("it is flat");
            same(Refusal::decode(&packed), Some(refusal));
        }
    }
}

fn reply(bytes: &[u8]) {
    let _ = Refusal::decode(bytes);
    if let Ok(reply) = Reply::decode(bytes) {
        same(Reply::from_value(reply.to_value()), reply);
    }
}

fn request(bytes: &[u8]) {
    let Ok(opened) = unpack_wire(bytes) else {
        return;
    };
    let id = opened.get("id").and_then(Value::as_str).unwrap_or("x");
    let Ok(id) = MinionId::parse(id) else {
        return;
    };
    match Request::open(opened, &id) {
        Ok(mut request) => {
            let _ = request.event_data();
            // It covers the order of the load that was read.
            request.meta.sig = None;
            same(Request::from_map(request.to_map()), Ok(request));
        }
        Err(error) => {
            let _ = error.refusal();
        }
    }
}

fn answers(bytes: &[u8]) {
    for reading in [Reading::Wire, Reading::Raw] {
        let Ok(answer) = unpack(bytes, reading) else {
            return;
        };
        if let Ok(chunk) = FileChunk::from_value(answer.clone()) {
            same(FileChunk::from_value(chunk.clone().into_value()), Ok(chunk));
        }
        if let Ok(hash) = FileHash::from_value(answer.clone()) {
            same(FileHash::from_value(hash.to_value()), Ok(hash));
        }
        if let Ok(Some(found)) = FileFound::from_value(answer.clone()) {
            same(FileFound::from_value(found.to_value()), Ok(Some(found)));
        }
        if let Ok(Some(published)) = PeerPublished::from_value(answer) {
            same(
                PeerPublished::from_value(published.to_value()),
                Ok(Some(published)),
            );
        }
    }
}

fn clear_command(bytes: &[u8]) {
    let Ok(Value::Map(load)) = unpack_wire(bytes) else {
        return;
    };
    match ClearCommand::from_map(load) {
        Ok(ClearCommand::Auth(auth)) => same(
            ClearCommand::from_map(auth.to_map()),
            Ok(ClearCommand::Auth(auth)),
        ),
        Ok(ClearCommand::Publish(publish)) => same(
            ClearCommand::from_map(publish.to_map()),
            Ok(ClearCommand::Publish(publish)),
        ),
        _ => {}
    }
}

fn publish_reply(bytes: &[u8]) {
    let reply = unpack_wire(bytes).map(PublishReply::from_value);
    if let Ok(Ok(reply)) = reply {
        same(PublishReply::from_value(reply.to_value()), Ok(reply));
    }
}

fn auth_answer(bytes: &[u8]) {
    if let Ok(answer) = AuthAnswer::decode(bytes) {
        same(AuthAnswer::from_value(answer.to_value()), Ok(answer));
    }
}

fn auth_reply(bytes: &[u8]) {
    if let Ok(reply) = AuthReply::decode(bytes) {
        let packed = reply.encode().expect("it was read within the limits");
        same(AuthReply::decode(&packed), Ok(reply));
    }
}

fn publication(bytes: &[u8]) {
    if let Ok(publication) = Publication::decode(bytes) {
        let packed = publication.encode().expect("it is flat");
        same(Publication::decode(&packed), Ok(publication));
    }
}

fn publish_load(bytes: &[u8]) {
    if let Ok(load) = PublishLoad::decode(bytes) {
        let packed = load.encode().expect("it was read within the limits");
        same(PublishLoad::decode(&packed), Ok(load));
    }
}

fn pillar(bytes: &[u8]) {
    if let Ok(answer) = PillarAnswer::decode(bytes) {
        same(PillarAnswer::from_value(answer.to_value()), Ok(answer));
    }
    if let Ok(signed) = SignedPillar::decode(bytes) {
        let packed = signed.encode().expect("it is flat");
        same(SignedPillar::decode(&packed), Ok(signed));
    }
    if let Ok(data) = PillarData::decode(bytes) {
        let packed = data.encode().expect("it was read within the limits");
        same(PillarData::decode(&packed), Ok(data));
    }
}

fn event(bytes: &[u8]) {
    if let Ok(mut event) = Event::unpack(bytes) {
        let packed = event.pack().expect("it was read within the limits");
        same(Event::unpack(&packed), Ok(event.clone()));
        let _ = event.pack_trimmed(packed.len() / 2);
        event.stamp(0, true);
    }
}

fn frames(bytes: &[u8]) {
    if let Ok(frame) = Frame::decode(bytes) {
        let found = Frame::new_event(bytes).map(|event| event.map(<[u8]>::to_vec));
        let is_late = frame.is_late();
        let event = frame.into_event().map(Some);
        same(found, if is_late { Ok(None) } else { event });
    }
    if let Ok(event) = Frame::decode(bytes).and_then(Frame::into_event) {
        let packed = frame_bare(&event).expect("it was read within the limits");
        same(
            Frame::decode(&packed).and_then(Frame::into_event),
            Ok(event),
        );
    }
    for framing in [Framing::Bare, Framing::Prefixed] {
        // Whole, and byte by byte: the frames are the same.
        let mut whole = FrameReader::with_limit(framing, 1 << 16);
        whole.push(bytes);
        let mut pieces = FrameReader::with_limit(framing, 1 << 16);
        for byte in bytes {
            pieces.push(&[*byte]);
            match pieces.next_event() {
                Ok(None) => {}
                Ok(Some(event)) => same(whole.next_event(), Ok(Some(event))),
                Err(_) => return,
            }
        }
    }
    let mut reader = FrameReader::detecting();
    reader.push(bytes);
    while let Ok(Some(_)) = reader.next_event() {}
}

fn names(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(id) = MinionId::parse(text) {
        is_one_component(id.as_str());
    }
    if let Ok(saltenv) = SaltEnv::parse(text) {
        is_one_component(saltenv.as_str());
    }
    if let Ok(jid) = Jid::parse(text) {
        is_one_component(jid.as_str());
        let _ = time::jid_to_text(&jid);
        if let Some(micros) = time::jid_to_micros(&jid) {
            assert_eq!(time::jid_from_micros(micros).as_str(), jid.digits());
        }
    }
    let _ = Nonce::parse(text);
    let _ = Tag::parse(text);
    let _ = time::parse_stamp(text);
    let _ = time::parse_datetime(bytes);
}

fn is_one_component(name: &str) {
    let path = std::path::Path::new("base").join(name);
    assert_eq!(path.components().count(), 2, "{name:?}");
    assert_eq!(path.parent(), Some(std::path::Path::new("base")));
}

/// What a stranger may send over a subscription: a sign of life and its proof.
fn presence(bytes: &[u8]) {
    let Some((sign, proof)) = SignOfLife::decode(bytes) else {
        return;
    };
    is_one_component(sign.id.as_str());
    same(
        SignOfLife::decode(&sign.encode(&proof)),
        Some((sign, proof)),
    );
}

fn pieces(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Some(position) = PiecePosition::parse(text) else {
        return;
    };
    same(PiecePosition::parse(&position.to_string()), Some(position));
    if let PiecePosition::More(behind) | PiecePosition::Last(behind) = position {
        is_one_component(&format!("x{}", behind.first));
    }
}

fn key_changes(bytes: &[u8]) {
    let Ok(Value::Map(extra)) = unpack_wire(bytes) else {
        return;
    };
    let changes = from_extra(&extra);
    assert!(changes.len() <= KEY_CHANGES_MAX);
    let again = Map::from([(KEY_CHANGES, to_value(&changes))]);
    same(from_extra(&again), changes);
}

/// A text of somebody else for a log and for a terminal.
fn shown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let log = show::for_log(&text);
    for (n, line) in log.split('\n').enumerate() {
        assert!(n == 0 || line.starts_with("    "), "{log:?}");
        let harmful = line.contains(|c| show::is_harmful(c) && c != '\t');
        assert!(!harmful, "{log:?}");
    }
    let terminal = show::for_terminal(&text);
    for part in terminal.split('\x1b').skip(1) {
        let colour = part.strip_prefix('[').and_then(|part| part.split_once('m'));
        let is_colour = |digits: &str| digits.chars().all(|c| c.is_ascii_digit() || c == ';');
        assert!(
            colour.is_some_and(|(digits, _)| is_colour(digits)),
            "{terminal:?}"
        );
    }
    same(
        show::for_terminal(&terminal).into_owned(),
        terminal.clone().into_owned(),
    );
}
