//! Whatever is merged and whatever a tree holds, a compilation ends with a pillar.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::sync::Arc;

use halite_pillar::{
    Compiler, Effects, Failure, Found, Known, Merging, Module, Request, Sls, Strategy as How,
};
use halite_proto::{Map, Value};
use proptest::collection::vec;
use proptest::prelude::*;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            maps(inner).prop_map(Value::from),
        ]
    })
}

fn maps(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    let key = prop_oneof![
        "[a-d]".prop_map(Value::from),
        (0..2i64).prop_map(Value::from)
    ];
    vec((key, value), 0..4).prop_map(|entries| entries.into_iter().collect())
}

fn merging() -> impl Strategy<Value = Merging> {
    let strategy = prop_oneof![
        Just(How::Recurse),
        Just(How::RecurseMaps),
        Just(How::Replace),
        Just(How::Pairs),
    ];
    (strategy, any::<bool>()).prop_map(|(strategy, lists)| Merging { strategy, lists })
}

/// YAML without templates.
struct Plain<'a> {
    compiler: &'a Compiler,
}

impl Effects for Plain<'_> {
    fn render(&self, sls: &Sls<'_>, _pillar: &Arc<Map>) -> Result<Value, Failure> {
        halite_yaml::load_bytes(sls.bytes, sls.name)
            .map(halite_yaml::Node::into_value)
            .map_err(|error| error.to_string().into())
    }

    fn decrypt(&self, _renderer: &str, value: Value) -> Result<Value, String> {
        Ok(value)
    }

    fn command(&self, command: &str, _through_shell: bool) -> Result<String, String> {
        Ok(command.to_owned())
    }

    fn compile(&self, request: &Request) -> Map {
        self.compiler.compile(request, self)
    }

    fn module(
        &self,
        _module: &Module,
        _request: &Request,
        _known: Known<'_>,
    ) -> Result<Value, String> {
        Ok(Value::Nil)
    }

    fn opts_of_modules(&self) -> Map {
        Map::new()
    }

    fn render_plain(&self, _bytes: &[u8], _file: &Found, _names: &Map) -> Result<String, String> {
        Ok(String::new())
    }

    fn render_text(&self, _bytes: &[u8], _file: &Found, _renderers: &str) -> Result<Value, String> {
        Ok(Value::Nil)
    }
}

fn json(value: &Value) -> String {
    // Flow style is YAML and JSON at once for what is generated here.
    halite_yaml::dump(value, halite_yaml::DumpOptions::block())
}

proptest! {
    #[test]
    fn merging_never_fails_and_loses_no_key(
        under in maps(values()),
        over in maps(values()),
        merging in merging(),
    ) {
        let merged = merging.merge(under.clone(), &over);
        for (key, value) in &under {
            prop_assert!(merged.get_value(key).is_some());
            if over.get_value(key).is_none() {
                prop_assert_eq!(merged.get_value(key), Some(value));
            }
        }
        if merging.strategy != How::Pairs {
            for (key, _) in &over {
                prop_assert!(merged.get_value(key).is_some());
            }
            // Once more changes nothing, unless lists grow.
            if !merging.lists {
                prop_assert_eq!(merging.merge(merged.clone(), &over), merged);
            }
        }
    }

    #[test]
    fn any_tree_gives_a_pillar(
        top in values(),
        sls in vec(values(), 3),
        include in values(),
        overrides in maps(values()),
        options in maps(values()),
        decrypt in values(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let base = Value::from(Map::from([("*", Value::from(vec!["a".into(), "b".into(), "*".into()]))]));
        fs::write(dir.path().join("top.sls"), json(&Map::from([("base", base), ("dev", top)]).into())).unwrap();
        for (name, value) in ["a", "b", "c"].iter().zip(sls) {
            let mut map = match value {
                Value::Map(map) => map,
                other => Map::from([("x", other)]),
            };
            map.insert("include", include.clone());
            fs::write(dir.path().join(format!("{name}.sls")), json(&map.into())).unwrap();
        }
        let dir = dir.path().to_str().unwrap();
        let mut opts = options;
        opts.insert("pillar_roots", Map::from([("base", vec![Value::from(dir)]), ("dev", vec![dir.into()])]));
        opts.insert("decrypt_pillar", decrypt);
        let compiler = Compiler::new(&opts).unwrap();
        let request = Request { id: "m".to_owned(), overrides: overrides.clone(), ..Request::default() };
        let pillar = compiler.compile(&request, &Plain { compiler: &compiler });
        for (key, _) in &overrides {
            prop_assert!(pillar.get_value(key).is_some());
        }
    }
}
