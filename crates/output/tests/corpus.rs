//! Generated data with the output of Salt 3008.5's outputters: odd texts, nestings,
//! options and data that does not fit its outputter.

mod common;

use std::io::Read;

use serde_json::Value as Json;

#[test]
fn generated_data_is_printed_alike() {
    let packed = include_bytes!("corpus.jsonl.gz");
    let mut cases = String::new();
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_string(&mut cases)
        .unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in cases.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let expect = case["expect"].as_str().unwrap_or_default();
        let text = common::rendered(&case);
        count += 1;
        if text != expect {
            wrong.push(format!("{line}\n--- ours\n{text}\n--- Salt's\n{expect}\n"));
        }
    }
    assert!(count > 900, "{count} cases");
    let shown = wrong.iter().take(3).cloned().collect::<String>();
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{shown}",
        wrong.len()
    );
}
