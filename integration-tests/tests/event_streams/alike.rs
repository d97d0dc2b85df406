//! Minions that do the same: their order is random.
//!
//! Invariant: two streams that differ only in which of two minions did what have
//! the same form.

use serde_json::{Map, Value};

use crate::recorded::groups;
use crate::shape::{Shape, in_order};

/// The form of a stream in which two minions are alike: of it and of the one in
/// which they have each other's names, the one that comes first.
pub(crate) fn canonical(shapes: Vec<Shape>, pair: &(String, String)) -> Vec<Shape> {
    let swapped: Vec<Shape> = shapes.iter().map(|shape| swap(shape, pair)).collect();
    match text(&swapped) < text(&shapes) {
        true => swapped,
        false => shapes,
    }
}

/// What a file would say of a stream.
fn text(shapes: &[Shape]) -> Vec<String> {
    let mut groups: Vec<String> = groups(shapes)
        .iter()
        .map(|group| {
            group
                .iter()
                .map(|shape| shape.to_json().to_string())
                .collect()
        })
        .collect();
    groups.sort();
    groups
}

fn swap(shape: &Shape, pair: &(String, String)) -> Shape {
    Shape {
        tag: swapped(&shape.tag, pair),
        data: swap_in(&shape.data, pair),
        about: swapped(&shape.about, pair),
    }
}

fn swap_in(value: &Value, pair: &(String, String)) -> Value {
    match value {
        Value::Object(map) => {
            let swapped = map.iter().map(|(key, value)| {
                let value = in_order(key, swap_in(value, pair));
                (swapped(key, pair), value)
            });
            let mut entries: Vec<(String, Value)> = swapped.collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| swap_in(item, pair)).collect(),
        Value::String(text) => Value::from(swapped(text, pair)),
        other => other.clone(),
    }
}

/// A text in which each has the other's name.
fn swapped(text: &str, (one, other): &(String, String)) -> String {
    let parts = text.split(one.as_str());
    let parts: Vec<String> = parts
        .map(|part| part.replace(other.as_str(), one))
        .collect();
    parts.join(other)
}

#[test]
fn who_comes_first_of_two_that_are_alike_does_not_count() {
    use serde_json::json;

    let pair = ("web1".to_owned(), "web2".to_owned());
    let stream = |first: &str, second: &str| {
        let all = json!({ "minions": ["web1", "web2"], "pending": [second] });
        let shape = |tag: String, data: Value| Shape {
            about: tag.clone(),
            tag,
            data,
        };
        vec![
            shape("salt/batch/new".to_owned(), all),
            shape(format!("salt/job/ret/{first}"), json!({ second: 1 })),
        ]
    };
    let forms = [stream("web1", "web2"), stream("web2", "web1")];
    let [one, other] = forms.map(|stream| text(&canonical(stream, &pair)));
    assert_eq!(one, other);
}
