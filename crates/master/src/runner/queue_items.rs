//! The items of a queue: texts, and data written as text.

use halite_output::{Indent, Outputter, RenderOptions, render_as};
use halite_proto::{Value, python};

use super::error::RunnerError;

/// The texts of `items`: one, or a list; data in its stored form.
pub(super) fn items(value: &Value) -> Result<Vec<String>, RunnerError> {
    match value {
        Value::Nil => Err(RunnerError::BadArguments("no item is given".to_owned())),
        Value::List(items) => items.iter().map(item).collect(),
        one => Ok(vec![item(one)?]),
    }
}

fn item(value: &Value) -> Result<String, RunnerError> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        Value::Map(_) | Value::List(_) => data_to_text(value),
        other => Ok(python::str(other)),
    }
}

/// JSON with single quotes, as Salt stores it; with double quotes where it could not be
/// read back otherwise.
fn data_to_text(data: &Value) -> Result<String, RunnerError> {
    let options = RenderOptions {
        indent: Indent::Compact,
        ..RenderOptions::default()
    };
    let json = render_as(Outputter::Json, data, &options);
    if json == "{}" && data.is_true() {
        let why = "the data cannot be represented as JSON".to_owned();
        return Err(RunnerError::BadArguments(why));
    }
    match json.contains(['\'', '\\']) {
        true => Ok(json),
        false => Ok(json.replace('"', "'")),
    }
}

/// Data from its text.
pub(super) fn text_to_data(text: &str) -> Option<Value> {
    let read = |text: &str| {
        let data = halite_yaml::load(text, "queue").ok()?.into_value();
        matches!(data, Value::Map(_)).then_some(data)
    };
    // YAML contains JSON, and reads single quotes too.
    read(text)
}

#[cfg(test)]
mod tests {
    use halite_proto::Map;

    use super::*;

    #[test]
    fn data_is_stored_as_salt_stores_it() {
        let runner = |arg: &str| {
            Value::from(Map::from([
                ("fun", Value::from("test.arg")),
                ("args", vec![arg.into(), 1.into()].into()),
                ("kwargs", Map::new().into()),
            ]))
        };
        let plain = item(&runner("a")).unwrap();
        assert_eq!(plain, "{'fun': 'test.arg', 'args': ['a', 1], 'kwargs': {}}");
        assert_eq!(text_to_data(&plain), Some(runner("a")));
        // What Salt could not read again.
        for odd in ["it's", "say \"no\"", "back\\slash", "line\nbreak", "é"] {
            let text = item(&runner(odd)).unwrap();
            assert_eq!(text_to_data(&text), Some(runner(odd)), "{text}");
        }
        assert_eq!(text_to_data("minion1"), None);
        assert_eq!(text_to_data("[1]"), None);
    }

    #[test]
    fn items_are_texts() {
        let texts = |value: Value| items(&value).unwrap();
        assert_eq!(texts("m1".into()), ["m1"]);
        assert_eq!(texts(5.into()), ["5"]);
        assert_eq!(texts(vec!["a".into(), true.into()].into()), ["a", "True"]);
        assert!(items(&Value::Nil).is_err());
    }
}
