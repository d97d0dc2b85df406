//! Every captured text of the programs, byte for byte.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

#[test]
fn captured_texts_are_printed_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let cases = fs::read_to_string(folder.join("data.jsonl")).unwrap();
    let mut count = 0;
    for line in cases.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let file = case["file"].as_str().unwrap();
        let mut text = String::new();
        for render in case["renders"].as_array().unwrap() {
            let rendered = common::rendered(render);
            if !rendered.is_empty() {
                text.push_str(&rendered);
                text.push('\n');
            }
        }
        assert_eq!(
            text,
            fs::read_to_string(folder.join(file)).unwrap(),
            "{file}"
        );
        count += 1;
    }
    assert_eq!(count, 87);
}

#[test]
fn what_3006_had_last() {
    let data: Json =
        serde_json::from_str(r#"{"web1": true, "web2": ["a", {"k": 1, "z": "x\ny"}]}"#).unwrap();
    let text = halite_output::render(
        Some("newline_values_only"),
        &common::value(&data),
        &halite_output::RenderOptions::default(),
    );
    assert_eq!(text, "True\na\n{'k': 1, 'z': 'x\\ny'}");
    let quiet = halite_output::render(
        Some("quiet"),
        &common::value(&data),
        &halite_output::RenderOptions::default(),
    );
    assert_eq!(quiet, "");
}
