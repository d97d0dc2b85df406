//! Reads the recorded cases: data, outputter and Salt's options as JSON.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use halite_output::{Indent, RenderOptions, Tabular, render};
use halite_proto::{Map, Value};
use serde_json::Value as Json;

pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => (*bool).into(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => int.into(),
            (None, Some(int)) => int.into(),
            _ => number.as_f64().unwrap().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(map) => map
            .iter()
            .map(|(key, item)| (key.as_str(), value(item)))
            .collect::<Map>()
            .into(),
    }
}

/// The options that a case sets, by Salt's names.
pub(crate) fn options(json: &Json) -> RenderOptions {
    let mut options = RenderOptions::default();
    for (name, json) in json.as_object().unwrap() {
        let yes = json.as_bool().unwrap_or(false);
        let highstate = &mut options.highstate;
        match name.as_str() {
            "color" => options.color = yes,
            "_retcode" => options.retcode = json.as_i64().unwrap(),
            "output_indent" => options.indent = Indent::from_value(&value(json)).unwrap(),
            "state_output" => highstate.output = json.as_str().unwrap().to_owned(),
            "state_verbose" => highstate.verbose = yes,
            "state_output_profile" => highstate.profile = yes,
            "state_output_pct" => highstate.percentages = yes,
            "state_output_diff" => highstate.diff = yes,
            "state_tabular" => highstate.tabular = Tabular::read(&value(json)),
            "state_compress_ids" => highstate.compress_ids = yes,
            "state_output_exclude" => highstate.exclude = results(json),
            "state_output_terse" => highstate.terse = results(json),
            other => panic!("unknown option {other}"),
        }
    }
    options
}

/// Renders a case's data with its outputter and options.
pub(crate) fn rendered(case: &Json) -> String {
    let name = case["out"].as_str().unwrap();
    render(Some(name), &value(&case["data"]), &options(&case["opts"]))
}

fn results(json: &Json) -> Vec<String> {
    match json {
        Json::String(text) => text.split(',').map(str::to_owned).collect(),
        other => other
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item.as_str().unwrap().to_owned())
            .collect(),
    }
}
