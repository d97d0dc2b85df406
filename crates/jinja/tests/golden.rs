//! Every case of the corpus, compared with real Jinja2 with Salt's extension.
//! `tests/corpus/make.py` made the expectations; intended differences are in
//! `tests/corpus/differences.json` with our answer and the reason.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use halite_crypto::{HashType, hash_hex};
use halite_jinja::{
    Engine, Error, Globals, Host, LoadRequest, LoadedSource, Result, Settings, UndefinedMode,
};
use halite_proto::value::{Map, Value as Data};
use halite_test_support::differences::Differences;
use halite_yaml::{DumpOptions, FlowStyle};
use serde_json::{Value as Json, json};

struct Corpus {
    templates: Option<Json>,
}

impl Host for Corpus {
    fn load(&self, request: LoadRequest<'_>) -> Result<Option<LoadedSource>> {
        let text = self
            .templates
            .as_ref()
            .and_then(|all| all.get(request.name)?.as_str());
        Ok(text.map(|text| LoadedSource {
            name: request.name.to_owned(),
            text: text.to_owned(),
            globals: Vec::new(),
            ..LoadedSource::default()
        }))
    }

    fn decode_yaml(&self, text: &str) -> Result<Data> {
        halite_yaml::load(text, "text")
            .map(|node| node.into_value())
            .map_err(|error| Error::runtime(error.python_text()))
    }

    fn encode_yaml(&self, data: &Data, flow: bool) -> Result<String> {
        let options = DumpOptions {
            flow: if flow {
                FlowStyle::Flow
            } else {
                FlowStyle::Block
            },
            ..DumpOptions::default()
        };
        Ok(halite_yaml::dump(data, options))
    }

    fn digest(&self, algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let kind = match algorithm {
            "md5" => HashType::Md5,
            "sha1" => HashType::Sha1,
            "sha256" => HashType::Sha256,
            "sha512" => HashType::Sha512,
            _ => return None,
        };
        let hex = hash_hex(kind, bytes);
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok())
            .collect()
    }
}

fn data(json: &Json) -> Data {
    match json {
        Json::Null => Data::Nil,
        Json::Bool(bool) => (*bool).into(),
        Json::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => number.as_f64().unwrap().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Data::List(items.iter().map(data).collect()),
        Json::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.as_str(), data(value)));
            Data::Map(entries.collect::<Map>())
        }
    }
}

fn settings(options: &Json) -> Settings {
    let mut settings = Settings::salt();
    let Json::Object(options) = options else {
        return settings;
    };
    for (name, value) in options {
        let text = value.as_str().unwrap_or_default().to_owned();
        let flag = value.as_bool().unwrap_or_default();
        match name.as_str() {
            "trim_blocks" => settings.trim_blocks = flag,
            "lstrip_blocks" => settings.lstrip_blocks = flag,
            "keep_trailing_newline" => settings.keep_trailing_newline = flag,
            "line_statement_prefix" => settings.line_statement_prefix = Some(text),
            "line_comment_prefix" => settings.line_comment_prefix = Some(text),
            "variable_start_string" => settings.variable_start = text,
            "variable_end_string" => settings.variable_end = text,
            "block_start_string" => settings.block_start = text,
            "block_end_string" => settings.block_end = text,
            "comment_start_string" => settings.comment_start = text,
            "comment_end_string" => settings.comment_end = text,
            "newline_sequence" => settings.newline = text,
            "lenient" => settings.undefined = UndefinedMode::Lenient,
            other => panic!("unknown option {other}"),
        }
    }
    settings
}

/// What ours does, in words that can be compared.
fn ours(case: &Json, corpus: &Json) -> Result<String> {
    let engine = Engine::new(settings(&case["options"]));
    let mut globals = Globals::new();
    if case.get("context").is_some() {
        for (name, value) in corpus["context"].as_object().unwrap() {
            globals.insert_data(name, &data(value));
        }
    }
    let templates = case.get("templates").map(|_| corpus["templates"].clone());
    let host = Corpus { templates };
    let template = engine.parse("template", case["template"].as_str().unwrap())?;
    template.render(&host, &globals)
}

/// What came of a case, as the list of differences keeps it.
fn as_json(result: &Result<String>) -> Json {
    match result {
        Ok(text) => json!({"output": text}),
        Err(error) => json!({"error": error.kind().class_name(), "message": error.message()}),
    }
}

/// How a case differs, if it does.
fn difference(case: &Json, result: &Result<String>) -> Option<String> {
    match (result, case.get("output"), case.get("error")) {
        (Ok(text), Some(wanted), _) if Some(text.as_str()) == wanted.as_str() => None,
        (Ok(text), Some(wanted), _) => Some(format!("wanted {wanted}, got {text:?}")),
        (Err(error), Some(wanted), _) => Some(format!("wanted {wanted}, got {error:?}")),
        (Ok(text), None, Some(classes)) => Some(format!(
            "wanted {} {}, got {text:?}",
            classes[0], case["message"]
        )),
        (Err(error), None, Some(classes)) => {
            let class = error.kind().class_name();
            let known = classes.as_array().unwrap().iter().any(|name| name == class);
            let same_text = error.kind() != halite_jinja::ErrorKind::Undefined
                || Some(error.message()) == case["message"].as_str();
            if known && same_text {
                return None;
            }
            Some(format!(
                "wanted {} {}, got {error:?}",
                classes[0], case["message"]
            ))
        }
        _ => panic!("a case without an expectation"),
    }
}

#[test]
fn the_corpus_renders_as_real_salt_renders_it() {
    let corpus: Json = serde_json::from_str(include_str!("corpus/golden.json")).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/differences.json");
    let mut differences = Differences::open(path);
    let cases = corpus["cases"].as_array().unwrap();
    assert!(cases.len() > 3000);
    for case in cases {
        let template = case["template"].as_str().unwrap();
        let result = ours(case, &corpus);
        let unlike_salt = difference(case, &result).map(|text| format!("\n    {text}"));
        differences.check(template, as_json(&result), unlike_salt);
    }
    differences.finish(true);
}
