//! The screens, against what `salt-call` of Salt 3008.5 printed.

use super::*;
use crate::options;

fn called(words: &[&str], outcome: CallOutcome) -> (String, String, u8, Option<Work>) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut screen = Screen::to_writers(&mut out, &mut err);
    let mut asked = None;
    let parsed = options::parse::<CallOptions>(words.iter().map(std::ffi::OsString::from));
    let exit = match parsed {
        Err(stop) => stop.show(&mut screen),
        Ok(parsed) => {
            let environment = Environment::default();
            run(&parsed, &Map::new(), &environment, &mut screen, |work| {
                asked = Some(work);
                outcome
            })
        }
    };
    drop(screen);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), exit.code(), asked)
}

fn returned(value: impl Into<Value>, retcode: i64) -> CallOutcome {
    CallOutcome::Returned(CallReturn {
        jid: Jid::parse("20261120142052108084").unwrap(),
        id: "web1".to_owned(),
        value: value.into(),
        retcode,
        out: None,
    })
}

fn check(words: &[&str], outcome: CallOutcome, out: &str, err: &str, exit: u8) {
    let got = called(words, outcome);
    assert_eq!(
        (got.0.as_str(), got.1.as_str(), got.2),
        (out, err, exit),
        "{words:?}"
    );
}

#[test]
fn results_stand_under_local() {
    check(
        &["test.ping"],
        returned(true, 0),
        "local:\n    True\n",
        "",
        0,
    );
    let json = "{\n    \"local\": true\n}\n";
    check(&["test.ping", "--out=json"], returned(true, 0), json, "", 0);
    check(
        &["test.false"],
        returned(false, 0),
        "local:\n    False\n",
        "",
        0,
    );
}

#[test]
fn return_codes_pass_through_if_asked() {
    check(&["cmd.run", "exit 7"], returned("", 7), "local:\n", "", 1);
    let passed = ["--retcode-passthrough", "cmd.run", "exit 7"];
    check(&passed, returned("", 7), "local:\n", "", 7);
}

#[test]
fn metadata_is_the_whole_job() {
    // samples/salt-call-local-metadata.json
    let expect = "{\n    \"local\": {\n        \"jid\": \"20261120142052108084\",\n        \
        \"return\": true,\n        \"retcode\": 0,\n        \"id\": \"web1\",\n        \
        \"fun\": \"test.ping\",\n        \"fun_args\": []\n    }\n}\n";
    let words = ["--local", "test.ping", "--metadata", "--out=json"];
    check(&words, returned(true, 0), expect, "", 0);
}

#[test]
fn failures_are_said_on_standard_error() {
    check(
        &["no.such"],
        CallOutcome::NotAvailable("'no.such' is not available.".to_owned()),
        "",
        "'no.such' is not available.\n",
        255,
    );
    check(
        &["cp.get_file", "x"],
        CallOutcome::CommandFailed("boom".to_owned()),
        "",
        "Error running 'cp.get_file': boom\n",
        1,
    );
    check(
        &["test.echo"],
        CallOutcome::BadArguments {
            text: "echo() missing 1 required positional argument: 'text'".to_owned(),
            doc: "Return a string".to_owned(),
        },
        "Return a string\n",
        "\nPassed invalid arguments: echo() missing 1 required positional argument: 'text'.\n\n\
         Usage:\n",
        1,
    );
    check(
        &["test.ping"],
        CallOutcome::KeyPending,
        "Minion failed to authenticate with the master, has the minion key been accepted?\n",
        "",
        2,
    );
    let gone = CallOutcome::NoUser("no user x".to_owned());
    check(&["--priv", "x", "test.ping"], gone, "", "no user x\n", 67);
}

#[test]
fn the_function_and_its_arguments_are_handed_on() {
    let words = [
        "--return=a,b",
        "--set-metadata={x: 1}",
        "f.g",
        "1",
        "k=true",
        "--",
        "-x",
    ];
    let (_, _, _, work) = called(&words, returned(true, 0));
    let expect = Work::Call(CallRequest {
        fun: "f.g".to_owned(),
        args: vec![
            1.into(),
            "-x".into(),
            Map::from([("__kwarg__", true), ("k", true)]).into(),
        ],
        metadata: Some(Map::from([("x", 1)]).into()),
        returners: vec!["a".to_owned(), "b".to_owned()],
    });
    assert_eq!(work, Some(expect));
    let (_, _, _, work) = called(&["-d", "test"], CallOutcome::Docs(BTreeMap::new()));
    assert_eq!(work, Some(Work::Docs("test".to_owned())));
    let grains = CallOutcome::Grains(Map::from([("os", "Debian")]));
    check(
        &["-g"],
        grains,
        "local:\n    ----------\n    os:\n        Debian\n",
        "",
        0,
    );
}

#[test]
fn a_call_without_a_function_is_a_usage_error() {
    let (out, err, exit, work) = called(&[], returned(true, 0));
    assert!(
        out.contains("Usage: salt-call [options] <function> [arguments]"),
        "{out}"
    );
    assert_eq!(
        err,
        "Usage: salt-call [options] <function> [arguments]\n\n\
         salt-call: error: Requires function, --grains or --doc\n"
    );
    assert_eq!((exit, work), (64, None));
}

#[test]
fn roots_without_local_are_warned_about() {
    let words = ["--file-root=/a", "--pillar-root=/b", "test.ping"];
    let (_, err, _, _) = called(&words, returned(true, 0));
    assert!(
        err.starts_with("Warning: --file-root, --pillar-root are ignored because"),
        "{err}"
    );
}
