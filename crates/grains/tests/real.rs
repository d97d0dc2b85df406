//! Grains compared with those of real Salt 3008.5 for the same files.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use halite_grains::{GrainsOptions, collect, collect_with};
use halite_proto::{Map, Value};
use serde_json::Value as Json;

fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Int(int) => Json::from(i64::try_from(*int).unwrap()),
        Value::Float(float) => Json::from(*float),
        Value::Str(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(map) => map_json(map),
        Value::Bytes(_) | Value::Ext(..) => panic!("not a grain: {value:?}"),
    }
}

fn map_json(map: &Map) -> Json {
    map.iter()
        .map(|(key, value)| (key.as_str().unwrap().to_owned(), to_json(value)))
        .collect()
}

fn fixture(files: &Json) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files.as_object().unwrap() {
        let path = root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.as_str().unwrap()).unwrap();
    }
    root
}

fn collect_in(root: &Path) -> Map {
    collect(&GrainsOptions {
        root: root.to_owned(),
        id: "m1".to_owned(),
        ..GrainsOptions::default()
    })
}

#[test]
fn distributions_have_the_names_salt_has_for_them() {
    let cases: Json = serde_json::from_str(include_str!("real/distributions.json")).unwrap();
    let mut different = Vec::new();
    for (name, case) in cases.as_object().unwrap() {
        let root = fixture(&case["files"]);
        let grains = map_json(&collect_in(root.path()));
        for (grain, theirs) in case["grains"].as_object().unwrap() {
            if &grains[grain] != theirs {
                different.push(format!(
                    "{name} {grain}: ours {} theirs {theirs}",
                    grains[grain]
                ));
            }
        }
        for grain in ["oscodename", "osmajorrelease", "osfinger", "lsb_distrib_id"] {
            if case["grains"].get(grain).is_none() && grains.get(grain).is_some() {
                different.push(format!(
                    "{name} {grain}: ours {} theirs nothing",
                    grains[grain]
                ));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_fixture_machine_is_read_from_its_files() {
    let cases: Json = serde_json::from_str(include_str!("real/machine.json")).unwrap();
    let root = fixture(&cases["files"]);
    let grains = map_json(&collect_in(root.path()));
    for (grain, value) in cases["grains"].as_object().unwrap() {
        assert_eq!(&grains[grain], value, "{grain}");
    }
}

#[test]
fn static_grains_lie_over_what_was_found() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("grains");
    fs::write(&file, "role: web\nos: Mine\nmap: {a: 1}\nn: 1\n").unwrap();
    let mut options = GrainsOptions {
        root: root.path().to_owned(),
        file: Some(file.clone()),
        config: Map::from([("n", Value::from(2)), ("map", Map::from([("b", 2)]).into())]),
        blacklist: vec!["saltver*".to_owned()],
        ..GrainsOptions::default()
    };
    let grains = map_json(&collect(&options));
    assert_eq!(grains["role"], "web");
    assert_eq!(grains["os"], "Mine");
    assert_eq!(grains["n"], 2);
    assert_eq!(grains["map"], serde_json::json!({"b": 2}));
    assert!(grains.get("saltversion").is_none());
    // What the configuration sets is never merged.
    options.deep_merge = true;
    assert_eq!(
        map_json(&collect(&options))["map"],
        serde_json::json!({"b": 2})
    );
    fs::write(&file, "role: [web\n").unwrap();
    assert!(map_json(&collect(&options)).get("role").is_none());
}

/// As real Salt 3008.5 has answered with the same files.
#[test]
fn users_grains_lie_between_the_machine_and_the_static_file() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("grains");
    fs::write(&file, "deep: {f: {y: 1}, b: [3]}\nzz_b: {in3: 3}\n").unwrap();
    let mut options = GrainsOptions {
        root: root.path().to_owned(),
        file: Some(file),
        ..GrainsOptions::default()
    };
    let users = |seen: &Map| {
        assert!(seen.contains_key("kernel"));
        let deep = Map::from([
            ("b", Value::List(vec![2.into()])),
            ("c", Map::from([("x", 1)]).into()),
        ]);
        Map::from([
            ("deep", Value::from(deep)),
            ("zz_a", 1.into()),
            ("zz_b", Map::from([("in1", 1)]).into()),
            ("os_family", "Odd".into()),
        ])
    };
    let all = |options: &GrainsOptions| map_json(&collect_with(options, users));
    let grains = all(&options);
    assert_eq!(grains["deep"], serde_json::json!({"f": {"y": 1}, "b": [3]}));
    assert_eq!(grains["zz_b"], serde_json::json!({"in3": 3}));
    assert_eq!(
        (&grains["zz_a"], &grains["os_family"]),
        (&1.into(), &"Odd".into())
    );
    options.deep_merge = true;
    let grains = all(&options);
    assert_eq!(
        grains["deep"],
        serde_json::json!({"b": [3], "c": {"x": 1}, "f": {"y": 1}})
    );
    assert_eq!(grains["zz_b"], serde_json::json!({"in1": 1, "in3": 3}));
    options.config = Map::from([("zz_b", Map::from([("in4", 4)])), ("set", Map::new())]);
    options.blacklist = vec!["zz_*".to_owned(), "set".to_owned(), "deep:c".to_owned()];
    let grains = all(&options);
    assert_eq!(grains["zz_b"], serde_json::json!({"in4": 4}));
    assert!(grains.get("set").is_some() && grains.get("zz_a").is_none());
    assert_eq!(grains["deep"]["c"], serde_json::json!({"x": 1}));
}
