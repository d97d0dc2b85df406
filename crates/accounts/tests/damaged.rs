//! A file of the system that cannot be read as text is left as it is, because
//! writing it again would change it.
#![allow(clippy::unwrap_used)]

use std::fs;

use halite_call::Registry;
use halite_fake_minion::FakeMinion;

static REGISTRY: Registry = Registry::new(
    &[halite_core_modules::MODULES, halite_accounts::MODULES],
    &[halite_accounts::STATES],
);

#[test]
fn the_passwords_of_others_are_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let etc = dir.path().join("etc");
    fs::create_dir(&etc).unwrap();
    let users = "root:x:0:0::/root:/bin/sh\nlarry:x:1000:1000::/home/larry:/bin/sh\n";
    fs::write(etc.join("passwd"), users).unwrap();
    let shadow = b"root:$6$a:1::::::\nl\xe9o:$6$b:1::::::\nlarry:!:1::::::\n";
    fs::write(etc.join("shadow"), shadow).unwrap();
    let minion = FakeMinion::new()
        .with_registry(&REGISTRY)
        .with_opt("__host_root__", dir.path().to_str().unwrap());
    let outcome = minion.run("shadow.set_password", &["larry".into(), "$6$c".into()]);
    assert_eq!(fs::read(etc.join("shadow")).unwrap(), shadow);
    let outcome = format!("{outcome:?}");
    assert!(outcome.contains("could not read /etc/shadow"), "{outcome}");
}
