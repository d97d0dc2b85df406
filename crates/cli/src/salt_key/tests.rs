//! The screens, against what `salt-key` of Salt 3008.5 printed.

use std::fs;
use std::path::Path;

use super::*;
use crate::options;

const PEM: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAm5q9xMhXEZuu7eBBBQjo
1MYltfCSV3+8rgDBhr0lsrjCz2x+6NrxBcwEMniNgz0LmrMrCA+f9A+RainIRfRA
8LrYwUyhzi0SdRQLv/BYhmHGcmW32bhZVpL0eS9NwqnHHOuyqn5YZp2T8WnuRN5S
hK22ilnRM52TvuQ0eP5CkVgWlkcjciHu3QYTJ4V47sPr/1ZrXQAOkL2G+3yE84n7
9nsKBqQClvOa4fuG29O5XZFMQHzI7Qx4LdjKFvsri8WHOwUGKEfeLEV/vvePDUda
Th/ZpVnDSu9c30gCj7CUM/F33qS3KK937viRNKaY4LQGqBmlHUAZkjoau1nSG/44
AwIDAQAB
-----END PUBLIC KEY-----";

struct KeyTool {
    dir: tempfile::TempDir,
}

impl KeyTool {
    fn new(keys: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (state, id) in keys {
            let path = dir.path().join("pki").join(state);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(id), PEM).unwrap();
        }
        fs::create_dir(dir.path().join("cache")).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn opts(&self) -> Map {
        let path = |name: &str| Value::from(self.path(name).to_str().unwrap());
        Map::from([
            ("pki_dir", path("pki")),
            ("cachedir", path("cache")),
            ("sock_dir", path("sock")),
            ("id", "m1_master".into()),
        ])
    }

    /// Standard output, standard error, exit code.
    fn run(&self, words: &[&str], input: &'static str) -> (String, String, u8) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut screen = Screen::to_writers(&mut out, &mut err);
        let words = words.iter().map(std::ffi::OsString::from);
        let exit = match options::parse::<KeyOptions>(words) {
            Err(stop) => stop.show(&mut screen),
            Ok(parsed) => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let environment = Environment::default();
                let opts = self.opts();
                let run = run(&parsed, &opts, &environment, &mut screen, input.as_bytes());
                runtime.block_on(run)
            }
        };
        drop(screen);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(out), text(err), exit.code())
    }

    fn check(&self, words: &[&str], input: &'static str, expect: &str) {
        let expect = (expect.to_owned(), String::new(), 0);
        assert_eq!(self.run(words, input), expect, "{words:?}");
    }

    fn has(&self, state: &str, id: &str) -> bool {
        Path::new(&self.path("pki")).join(state).join(id).exists()
    }
}

fn two_pending() -> KeyTool {
    KeyTool::new(&[("minions_pre", "web2"), ("minions_pre", "web1")])
}

#[test]
fn lists_are_salts() {
    let tool = two_pending();
    let all = "Accepted Keys:\nDenied Keys:\nUnaccepted Keys:\nweb1\nweb2\nRejected Keys:\n";
    tool.check(&["-L"], "", all);
    tool.check(&[], "", all);
    tool.check(&["-L", "-q"], "", all);
    tool.check(&["-l", "all"], "", all);
    tool.check(&["-l", "un"], "", "Unaccepted Keys:\nweb1\nweb2\n");
    tool.check(&["-l", "acc"], "", "Accepted Keys:\n");
    // samples/salt-key-L.json
    let json = "{\n    \"minions_pre\": [\n        \"web1\",\n        \"web2\"\n    ],\n    \
        \"minions_rejected\": [],\n    \"minions\": [],\n    \"minions_denied\": []\n}\n";
    tool.check(&["-L", "--out=json"], "", json);
    tool.check(&["-a", "web1", "-l", "acc"], "", "Accepted Keys:\n");
}

#[test]
fn without_a_directory_there_are_no_keys() {
    let tool = KeyTool::new(&[]);
    let none = "Accepted Keys:\nDenied Keys:\nUnaccepted Keys:\nRejected Keys:\n";
    tool.check(&["-L"], "", none);
    assert!(!tool.path("pki").exists());
}

#[test]
fn accepting_asks_and_says_what_it_did() {
    let tool = two_pending();
    let shown =
        "The following keys are going to be accepted:\nUnaccepted Keys:\nweb1\nProceed? [n/Y] ";
    tool.check(&["-a", "web1"], "n\n", shown);
    assert!(tool.has("minions_pre", "web1"));
    tool.check(&["-a", "web1"], "", shown);
    let done = format!("{shown}Key for minion web1 accepted.\n");
    tool.check(&["-a", "web1"], "\n", &done);
    assert!(tool.has("minions", "web1") && !tool.has("minions_pre", "web1"));
    tool.check(
        &["-A", "-y"],
        "",
        "The following keys are going to be accepted:\nUnaccepted Keys:\nweb2\n\
         Key for minion web2 accepted.\n",
    );
    tool.check(
        &["-A", "-y"],
        "",
        "The key glob '*' does not match any unaccepted keys.\n",
    );
    tool.check(
        &["-a", "nosuch", "-y", "--out=json"],
        "",
        "The key glob 'nosuch' does not match any unaccepted keys.\n",
    );
}

#[test]
fn deleting_needs_a_yes() {
    let tool = KeyTool::new(&[("minions", "web2")]);
    let shown =
        "The following keys are going to be deleted:\nAccepted Keys:\nweb2\nProceed? [N/y] ";
    tool.check(&["-d", "web2"], "\n", shown);
    assert!(tool.has("minions", "web2"));
    assert!(!tool.path("cache/.dfn").exists());
    let done = format!("{shown}Key for minion web2 deleted.\n");
    tool.check(&["-d", "web2"], "Yes\n", &done);
    assert!(!tool.has("minions", "web2"));
    assert_eq!(
        fs::read_to_string(tool.path("cache/.dfn")).unwrap(),
        "m1_master"
    );
}

#[test]
fn rejecting_cuts_off_unless_told_not_to() {
    let tool = KeyTool::new(&[("minions", "web1"), ("minions_pre", "web2")]);
    tool.check(
        &["-r", "web*", "-y", "--rotate-aes-key=false"],
        "",
        "The following keys are going to be rejected:\nUnaccepted Keys:\nweb2\n\
         Key for minion web2 rejected.\n",
    );
    assert!(!tool.path("cache/.dfn").exists());
    tool.check(
        &["-R", "-y", "--include-accepted"],
        "",
        "The following keys are going to be rejected:\nAccepted Keys:\nweb1\n\
         Key for minion web1 rejected.\n",
    );
    assert!(tool.path("cache/.dfn").exists());
    tool.check(
        &["-A", "-y", "--include-rejected"],
        "",
        "The following keys are going to be accepted:\nRejected Keys:\nweb1\nweb2\n\
         Key for minion web1 accepted.\nKey for minion web2 accepted.\n",
    );
}

#[test]
fn keys_and_fingerprints_are_printed() {
    let tool = KeyTool::new(&[("minions_pre", "web1")]);
    tool.check(
        &["-p", "web1"],
        "",
        &format!("Unaccepted Keys:\nweb1:  {PEM}\n"),
    );
    tool.check(&["-p", "nosuch"], "", "");
    fs::write(tool.path("pki/m1.pub"), PEM).unwrap();
    // What `key.finger` of the minion says: docs/differences.md.
    let finger = "5b:29:1f:9f:d7:7f:1b:cd:c3:0d:1b:1f:19:eb:91:d4:99:f8:05:ca:6f:b4:2c:49:73:db:0a:74:c9:e1:cc:94";
    tool.check(
        &["-f", "web1"],
        "",
        &format!("Unaccepted Keys:\nweb1:  {finger}\n"),
    );
    // The manuals say `-F master`.
    for words in [&["-F"][..], &["-F", "master"]] {
        tool.check(
            words,
            "",
            &format!("Local Keys:\nm1.pub:  {finger}\nUnaccepted Keys:\nweb1:  {finger}\n"),
        );
    }
}

#[test]
fn what_is_no_key_is_not_accepted() {
    let tool = KeyTool::new(&[("minions_pre", "web1")]);
    fs::write(tool.path("pki/minions_pre/web1"), "rubbish").unwrap();
    let (out, err, exit) = tool.run(&["-A", "-y"], "");
    assert_eq!(
        out,
        "The following keys are going to be accepted:\nUnaccepted Keys:\nweb1\n"
    );
    assert_eq!(err, "Unable to accept invalid key for web1.\n");
    assert_eq!(exit, 1);
    assert!(tool.has("minions_pre", "web1"));
}

#[test]
fn wrong_command_lines_are_usage_errors() {
    let tool = KeyTool::new(&[]);
    for (words, error) in [
        (&["-a"][..], "-a option requires 1 argument"),
        (&["--accept"], "--accept option requires 1 argument"),
        (&["-qa"], "-a option requires 1 argument"),
        (&["-l", "zzz"], "'zzz' is not a valid argument to '--list'"),
        (&["--static"], "no such option: --static"),
        (&["-L", "-x"], "no such option: -x"),
        (&["--keysize=5"], "The minimum value for keysize is 2048"),
        (
            &["--keysize=x"],
            "option --keysize: invalid integer value: 'x'",
        ),
        (&["--yes=1"], "--yes option does not take a value"),
        (
            &["-a", "a", "b"],
            "'b' belongs to no option; quote globs, and separate several by commas",
        ),
        (
            &["-D", "b"],
            "Delete all takes no arguments. Use -d to delete specified keys",
        ),
        (&["--username", "sue", "-L"], "--username needs --auth"),
        (
            &["--auth", "pam", "--gen-keys", "x"],
            "--gen-keys does not go with --auth: it is for who may use the master's files",
        ),
        (
            &["--log-level=x"],
            "option --log-level: invalid choice: 'x' (choose from 'all', 'garbage', 'trace', \
             'debug', 'profile', 'info', 'warning', 'error', 'critical', 'quiet')",
        ),
    ] {
        let expect = format!("Usage: salt-key [options]\n\nsalt-key: error: {error}\n");
        assert_eq!(
            tool.run(words, ""),
            (String::new(), expect, 64),
            "{words:?}"
        );
    }
}

#[test]
fn pairs_are_made_and_signatures() {
    let tool = KeyTool::new(&[]);
    let dir = format!("--gen-keys-dir={}", tool.path("new").display());
    let (out, err, exit) = tool.run(&["--gen-keys=web9", &dir], "");
    assert_eq!((err.as_str(), exit), ("", 0));
    assert!(out.starts_with("return:\n    "), "{out}");
    assert!(tool.path("new/web9.pem").exists() && tool.path("new/web9.pub").exists());

    let (_, err, exit) = tool.run(&["--gen-signature"], "");
    assert!(
        err.starts_with("salt-key: error: the key ") && err.ends_with(" does not exist\n"),
        "{err}"
    );
    assert_eq!(exit, 1);
    fs::copy(tool.path("new/web9.pub"), tool.path("pki/master.pub")).unwrap();
    tool.check(
        &["--gen-signature", "--auto-create"],
        "",
        "return:\n    True\n",
    );
    assert!(tool.path("pki/master_sign.pem").exists());
}
