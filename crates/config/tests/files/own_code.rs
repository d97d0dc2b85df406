//! Whether directories of users' code are looked at.

use crate::Dir;

#[test]
fn code_that_others_may_write_is_told_of() {
    use std::fs::{Permissions, create_dir_all, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let dir = Dir::new();
    create_dir_all(dir.path("code/modules")).unwrap();
    let code = dir.path("code").display().to_string();
    dir.file("code/modules/x.py", "").file(
        "master",
        &format!("id: x\nmodule_dirs: [{code}]\nrunner_dirs: runners\n"),
    );
    let set = |name: &str, mode| {
        set_permissions(dir.path(name), Permissions::from_mode(mode)).unwrap();
    };
    for (name, mode) in [("", 0o755), ("master", 0o644), ("code", 0o755)] {
        set(name, mode);
    }
    let told = || {
        let mut loaded = dir.master();
        let mut code = halite_config::code_dirs(loaded.config.opts());
        // Where this machine keeps synced code is not of this test.
        code.retain(|dir| !dir.ends_with("extmods"));
        loaded.warn_of_writers(None, &code);
        let lines = loaded.warnings.iter();
        lines
            .map(|warning| dir.anonymous(&warning.to_string()))
            .collect::<Vec<_>>()
    };
    let relative = "runners: code is taken from whole paths only: elsewhere it would be another \
                    directory for each program";
    for (changed, mode, good) in [
        ("code", 0o775, 0o755),
        ("code/modules", 0o757, 0o755),
        ("code/modules/x.py", 0o646, 0o644),
    ] {
        set("code/modules", 0o755);
        set("code/modules/x.py", 0o644);
        assert_eq!(told(), [relative]);
        set(changed, mode);
        let why =
            "its group or others may write it, and so decide what the daemon runs: `chmod go-w` it";
        assert_eq!(
            told(),
            [format!("DIR/{changed}: {why}"), relative.to_owned()]
        );
        set(changed, good);
    }
}
