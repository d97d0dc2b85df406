//! The generators of values for the properties.

use halite_proto::publish::FunSpec;
use halite_proto::{Jid, Map, MinionId, Nonce, SaltEnv, Tag, Value, time};
use proptest::collection::vec;
use proptest::prelude::*;

/// A value of any kind, nested a few levels.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::List),
            vec((key(), inner), 0..6).prop_map(|entries| Value::Map(entries.into_iter().collect())),
        ]
    })
}

/// A value that is no container.
pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-40_i64..300).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::Float),
        any::<String>().prop_map(Value::from),
        "[a-z]{0,40}".prop_map(Value::from),
        vec(any::<u8>(), 0..300).prop_map(Value::Bytes),
        (0..=time::UNIX_MICROS_MAX)
            .prop_map(|micros| time::datetime(time::Civil::from_micros(micros))),
    ]
}

/// A key: of bytes that a reader takes for text, the wire makes the same key
/// as of that text.
fn key() -> impl Strategy<Value = Value> {
    scalar().prop_map(|key| match key {
        Value::Bytes(mut bytes) => {
            bytes.push(0xff);
            Value::Bytes(bytes)
        }
        other => other,
    })
}

/// A value that is there: `None` of an optional field is not told from its
/// absence.
pub(crate) fn present() -> impl Strategy<Value = Value> {
    value().prop_filter("nil", |value| !value.is_nil())
}

pub(crate) fn map() -> impl Strategy<Value = Map> {
    vec((key(), value()), 0..6).prop_map(|entries| entries.into_iter().collect())
}

/// Fields that no message has a use for.
pub(crate) fn extra() -> impl Strategy<Value = Map> {
    vec(("x_[a-z]{1,4}", value()), 0..3).prop_map(|entries| entries.into_iter().collect())
}

pub(crate) fn list() -> impl Strategy<Value = Vec<Value>> {
    vec(value(), 0..4)
}

/// Bytes that no reader takes for text.
pub(crate) fn binary() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..300).prop_map(|mut bytes| {
        bytes.push(0xff);
        bytes
    })
}

pub(crate) fn minion_id() -> impl Strategy<Value = MinionId> {
    any::<String>().prop_filter_map("an id", |text| MinionId::parse(text).ok())
}

pub(crate) fn saltenv() -> impl Strategy<Value = SaltEnv> {
    any::<String>().prop_filter_map("an environment", |text| SaltEnv::parse(text).ok())
}

pub(crate) fn tag() -> impl Strategy<Value = Tag> {
    any::<String>().prop_filter_map("a tag", |text| Tag::parse(text).ok())
}

pub(crate) fn jid() -> impl Strategy<Value = Jid> {
    prop_oneof![
        (0..=time::UNIX_MICROS_MAX).prop_map(time::jid_from_micros),
        "[0-9]{20}_[0-9]{1,7}".prop_map(|text| Jid::parse(text).unwrap()),
    ]
}

pub(crate) fn nonce() -> impl Strategy<Value = Nonce> {
    any::<[u8; 16]>().prop_map(Nonce::from_random)
}

pub(crate) fn fun() -> impl Strategy<Value = FunSpec> {
    prop_oneof![
        any::<String>().prop_map(FunSpec::One),
        vec(any::<String>(), 0..3).prop_map(FunSpec::Many),
    ]
}

/// A target: text or a list.
pub(crate) fn tgt() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<String>().prop_map(Value::from),
        list().prop_map(Value::List),
    ]
}
