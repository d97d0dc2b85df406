//! Compares two streams of one action.

use serde_json::Value;

use crate::recorded::groups;
use crate::script::{Rule, RuleKind};
use crate::shape::Shape;

/// What rules leave of a stream.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The events that count.
    pub(crate) events: Vec<Shape>,
    /// The rules that had an effect, by their places.
    pub(crate) used: Vec<usize>,
}

/// A stream without what may differ; `others` is the kind of rule that leaves
/// out events of this stream.
pub(crate) fn kept(events: &[Shape], rules: &[Rule], others: &RuleKind) -> Kept {
    let mut kept = Kept::default();
    'events: for event in events {
        let mut event = event.clone();
        for (at, rule) in rules.iter().enumerate() {
            if !rule.means(&event.tag) {
                continue;
            }
            let has_effect = match &rule.kind {
                RuleKind::Key(key) => event.forget(key),
                kind => kind == others,
            };
            if has_effect {
                kept.used.push(at);
            }
            let is_out = has_effect && !matches!(rule.kind, RuleKind::Key(_));
            if is_out {
                continue 'events;
            }
        }
        kept.events.push(event);
    }
    kept
}

/// The events of `wanted` that are not in `found`, each as often as it lacks.
pub(crate) fn lacking<'a>(wanted: &'a [Shape], found: &[Shape]) -> Vec<&'a Shape> {
    let mut left: Vec<&Shape> = found.iter().collect();
    let mut lacking = Vec::new();
    for event in wanted {
        let same = |other: &&Shape| other.tag == event.tag && other.data == event.data;
        match left.iter().position(same) {
            Some(at) => {
                left.remove(at);
            }
            None => lacking.push(event),
        }
    }
    lacking
}

/// What differs, for who reads the end of a test.
pub(crate) fn differences(salt: &[Shape], ours: &[Shape]) -> Vec<String> {
    let missing = lacking(salt, ours);
    let mut extra = lacking(ours, salt);
    let mut said = Vec::new();
    for event in missing {
        let twin = extra.iter().position(|other| other.tag == event.tag);
        match twin.map(|at| extra.remove(at)) {
            Some(other) => {
                said.push(format!("another {}:", event.tag));
                places(&event.data, &other.data, "", &mut said);
            }
            None => said.push(format!("missing: {} {}", event.tag, event.data)),
        }
    }
    said.extend(
        extra
            .iter()
            .map(|event| format!("only ours: {} {}", event.tag, event.data)),
    );
    if said.is_empty() {
        let tags = |events: &[Shape]| {
            let mut orders: Vec<Vec<String>> = groups(events)
                .iter()
                .map(|group| group.iter().map(|event| event.tag.clone()).collect())
                .collect();
            orders.sort();
            orders
        };
        let (salt, ours) = (tags(salt), tags(ours));
        if salt != ours {
            said.push(format!("another order: {salt:?}\n   ours: {ours:?}"));
        }
    }
    said
}

/// The places at which two data differ.
fn places(salt: &Value, ours: &Value, at: &str, said: &mut Vec<String>) {
    match (salt, ours) {
        (Value::Object(salt), Value::Object(ours)) => {
            let keys: std::collections::BTreeSet<&String> =
                salt.keys().chain(ours.keys()).collect();
            for key in keys {
                let at = format!("{at}.{key}");
                match (salt.get(key), ours.get(key)) {
                    (Some(salt), Some(ours)) => places(salt, ours, &at, said),
                    (Some(salt), None) => said.push(format!("   {at} is missing: {salt}")),
                    (None, Some(ours)) => said.push(format!("   {at} is only ours: {ours}")),
                    (None, None) => {}
                }
            }
        }
        (salt, ours) if salt == ours => {}
        (salt, ours) => said.push(format!("   {at}: {salt}\n     ours: {ours}")),
    }
}
