//! Users of the machine, who log in with PAM: what they may do by their names and by
//! their groups.

use anyhow::Result;
use halite_integration_tests::Fleet;
use halite_integration_tests::pam_users::{PAM_PROGRAMS, PamUsers, change};
use halite_test_support::{have_programs, have_root, not_run};

use crate::{SECRET, compare, rules};

/// Fewer would not be the comparison that it claims to be.
const ASKS_MIN: usize = 100;

#[test]
fn groups_of_the_machine_give_the_same_rights() -> Result<()> {
    if !have_root() || !have_programs(&PAM_PROGRAMS) {
        return Ok(());
    }
    if let Some(missing) = PamUsers::missing() {
        not_run(&missing);
        return Ok(());
    }
    let mut machine = PamUsers::new()?;
    let (first, more) = (machine.group("f")?, machine.group("m")?);
    let mut user = |end: &str, options: &[&str]| machine.user(end, SECRET, options);
    let own = "--user-group";
    let primary = user("p", &["--gid", &first])?;
    let member = user("s", &[own, "--groups", &more])?;
    let both = user("b", &["--gid", &first, "--groups", &more])?;
    let outsider = user("o", &[own])?;
    let locked = user("l", &[own, "--groups", &more])?;
    change("usermod", &["--lock", &locked], "")?;
    let past = "1970-01-02";
    let expired = user("e", &[own, "--groups", &more, "--expiredate", past])?;
    let words: [(&str, &str); 9] = [
        ("PAM_SERVICE", machine.service()),
        ("G_FIRST", &first),
        ("G_MORE", &more),
        ("U_PRIMARY", &primary),
        ("U_MEMBER", &member),
        ("U_BOTH", &both),
        ("U_OUTSIDER", &outsider),
        ("U_LOCKED", &locked),
        ("U_EXPIRED", &expired),
    ];
    let fleet = Fleet::new("pamrules")?;
    compare(&fleet, &rules::read("pam.yaml", &words)?, ASKS_MIN)
}
