use halite_fileserver::{FileServer, RootsOptions};

use super::settings::Settings;
use super::*;
use crate::context::local::LocalContext;

/// A minion with nothing but options.
pub(super) fn context(opts: Map) -> LocalContext {
    let files = FileServer::from_roots(RootsOptions::default()).unwrap();
    LocalContext::new(opts, Map::new(), files)
}

fn record() -> Map {
    Map::from([
        ("jid", Value::from("20240229123456789012")),
        ("return", Map::from([("a", "é")]).into()),
        ("retcode", 0.into()),
        ("id", "m1".into()),
        ("fun", "test.arg".into()),
        ("fun_args", vec!["1".into()].into()),
        ("success", true.into()),
    ])
}

#[test]
fn names_are_taken_once_and_unknown_ones_are_told() {
    let wanted = ChosenReturners::of(["local, syslog,local", "", "nosuch,rawfile_json,nosuch"]);
    assert_eq!(wanted.names, ["local", "syslog", "rawfile_json"]);
    let refused = wanted
        .checked(&Map::from([("python_fallback", false)]))
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "unknown returner nosuch; known ones are: local, local_cache, mysql, \
         pgjsonb, postgres, rawfile_json, redis, syslog"
    );
    let opts = Map::from([("return", vec![Value::from("syslog")])]);
    assert_eq!(
        ChosenReturners::with_option(["local"], &opts).names,
        ["local", "syslog"]
    );
    assert!(ChosenReturners::of([","]).is_empty());
}

#[test]
fn settings_come_from_where_salt_looks() {
    let opts = Map::from([
        ("rawfile_json.filename", Value::from("/flat")),
        ("other.rawfile_json.filename", "/other".into()),
        (
            "deep.rawfile_json",
            Map::from([("filename", "/deep")]).into(),
        ),
    ]);
    let ctx = context(opts);
    let filename = |more: &[(&str, Value)]| {
        let mut record = record();
        record.extend(more.iter().map(|(key, value)| (*key, value.clone())));
        Settings::new(&ctx, "rawfile_json", &record)
            .text("filename")
            .unwrap()
    };
    let flat = Some("/flat".to_owned());
    assert_eq!(filename(&[]), flat);
    let profile = |name: &str| ("ret_config", Value::from(name));
    assert_eq!(filename(&[profile("other")]).as_deref(), Some("/other"));
    assert_eq!(filename(&[profile("deep")]).as_deref(), Some("/deep"));
    assert_eq!(filename(&[profile("none")]), flat);
    let kwargs = ("ret_kwargs", Map::from([("filename", "/kwargs")]).into());
    let both = filename(&[profile("other"), kwargs.clone()]);
    assert_eq!(both.as_deref(), Some("/kwargs"));

    // A command may not choose the file that is written.
    let mut record = record();
    record.extend([kwargs]);
    let error = Settings::new(&ctx, "rawfile_json", &record).own_text("filename");
    assert!(error.unwrap_err().to_string().contains("configuration"));
}

#[test]
fn records_are_written_and_one_failure_stops_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let ctx = context(Map::from([
        (
            "rawfile_json",
            Value::from(Map::from([("filename", path("out"))])),
        ),
        ("cachedir", path("cache").into()),
        ("id", "m1".into()),
    ]));
    let record = record();
    ChosenReturners::of(["nosuch,rawfile_json,local_cache"]).deliver(&ctx, &record);
    // As Salt writes it, letter by letter.
    assert_eq!(
        std::fs::read_to_string(path("out")).unwrap(),
        concat!(
            r#"{"jid": "20240229123456789012", "return": {"a": "é"}, "retcode": 0, "id": "m1", "#,
            r#""fun": "test.arg", "fun_args": ["1"], "success": true}"#,
            "\n"
        )
    );
    let store = halite_store::open(&halite_store::StoreOptions::local_fs(
        dir.path().join("cache"),
        halite_crypto::HashType::Sha256,
    ));
    let jid = halite_proto::Jid::parse("20240229123456789012").unwrap();
    let id = halite_proto::MinionId::parse("m1").unwrap();
    let stored = store.jobs.return_of(&jid, &id).unwrap().unwrap();
    assert_eq!(stored.ret(), &Value::from(Map::from([("a", "é")])));
    // A second one of the job changes nothing.
    assert!(local_cache::deliver(&ctx, &record).is_ok());
    let mut nameless = record;
    nameless.insert("jid", "req");
    assert!(local_cache::deliver(&ctx, &nameless).is_err());
}

/// The result is where a master of either make looks for it, once.
#[test]
fn a_database_gets_the_result() {
    let Some(postgres) = halite_test_services::Postgres::shared() else {
        return;
    };
    let database = postgres.database().unwrap();
    let port = u64::from(postgres.address.port());
    let ctx = context(Map::from([
        ("id", Value::from("m1")),
        (
            "returner.pgjsonb.host",
            postgres.address.ip().to_string().into(),
        ),
        ("returner.pgjsonb.port", port.into()),
        ("returner.pgjsonb.db", database.as_str().into()),
    ]));
    for _ in 0..2 {
        database::pgjsonb(&ctx, &record()).unwrap();
    }
    let row = postgres.sql(&database, "select jid, id, fun, return from salt_returns");
    assert_eq!(
        row.unwrap().trim(),
        r#"20240229123456789012|m1|test.arg|{"a": "é"}"#
    );
    // Whoever runs the function does not choose the server.
    let mut record = record();
    record.insert("ret_kwargs", Map::from([("host", "elsewhere")]));
    let error = database::pgjsonb(&ctx, &record).unwrap_err();
    assert!(
        error.to_string().contains("returner.pgjsonb.host"),
        "{error}"
    );
}
