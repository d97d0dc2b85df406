//! Encrypted values, with a key made for the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use halite_proto::{Map, Value};
use halite_render::{ErrorKind, FixedContext, Renderer, SlsRequest};

fn gpg(home: &Path, args: &[&str], input: &str) -> String {
    let mut child = Command::new("gpg")
        .arg("--homedir")
        .arg(home)
        .args(["--batch", "--no-tty", "--quiet"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "gpg {args:?}: {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Ends the agent that belongs to the test's keys.
struct Home(tempfile::TempDir);

impl Drop for Home {
    fn drop(&mut self) {
        let _ = Command::new("gpgconf")
            .arg("--homedir")
            .arg(self.0.path())
            .args(["--kill", "all"])
            .status();
    }
}

fn context(home: &Path) -> FixedContext {
    FixedContext {
        opts: Map::from([("gpg_keydir", home.to_str().unwrap())]),
        ..FixedContext::default()
    }
}

#[test]
fn encrypted_values_become_plain_wherever_they_are() {
    if !halite_test_support::have_programs(&["gpg"]) {
        return;
    }
    let home = Home(tempfile::tempdir().unwrap());
    let at = home.0.path();
    let key = [
        "--passphrase",
        "",
        "--quick-generate-key",
        "test <t@example.com>",
    ];
    gpg(at, &key, "");
    let encrypt = |text: &str| {
        let args = [
            "--armor",
            "--trust-model",
            "always",
            "-e",
            "-r",
            "t@example.com",
        ];
        gpg(at, &args, text)
    };
    let (one, two) = (encrypt("s3cr3t"), encrypt("two\n"));
    let indented = one.replace('\n', "\n    ");
    let inline = two.trim_end().replace('\n', "\\n");
    let sls = format!(
        "#!jinja|yaml|gpg\na: |\n    {indented}\nb:\n  - plain\n  - x: '<{inline}>'\nc: {{{{ 1 + 1 }}}}\n"
    );
    let ctx = context(at);
    let renderer = Renderer::new(&ctx);
    let data = renderer.sls(&SlsRequest::new(sls.as_bytes())).unwrap();
    assert_eq!(data.get("a"), Some(&"s3cr3t".into()));
    let list = data.get("b").unwrap().as_list().unwrap();
    assert_eq!(list[0], "plain".into());
    assert_eq!(data.get("c"), Some(&2.into()));
    assert_eq!(list[1].get("x"), Some(&"<two\n>".into()));

    // As `decrypt_pillar` does it.
    let plain = renderer
        .decrypt("gpg", inline.as_str().into(), true)
        .unwrap();
    assert_eq!(plain, "two".into());

    // The text before YAML.
    let sls = format!("#!gpg|yaml\n{}", encrypt("k: [v]\n"));
    let data = renderer.sls(&SlsRequest::new(sls.as_bytes())).unwrap();
    assert_eq!(data.get("k"), Some(&Value::List(vec!["v".into()])));
}

#[test]
fn what_cannot_be_decrypted_is_an_error_that_holds_no_secret() {
    if !halite_test_support::have_programs(&["gpg"]) {
        return;
    }
    let home = Home(tempfile::tempdir().unwrap());
    let sls = b"#!yaml|gpg\na: \"-----BEGIN PGP MESSAGE-----\\n\\nrubbish\\n-----END PGP MESSAGE-----\"\n";
    let mut ctx = context(home.0.path());
    let error = Renderer::new(&ctx).sls(&SlsRequest::new(sls)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decrypt);
    assert!(
        error
            .to_string()
            .starts_with("Could not decrypt cipher b'-----BEGIN"),
        "{error}"
    );
    ctx.opts.insert("gpg_decrypt_must_succeed", false);
    let data = Renderer::new(&ctx).sls(&SlsRequest::new(sls)).unwrap();
    assert!(data.get("a").unwrap().as_str().unwrap().contains("rubbish"));
}
