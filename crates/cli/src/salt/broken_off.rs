//! The message when `salt` is interrupted while minions work: how to get the
//! results, which minions have not returned, and which have not begun.

use halite_proto::Jid;

use crate::{Exit, Screen};

/// Names of minions that are shown; of more, their number.
const NAMES_MAX: usize = 10;

/// Says how to get at the results of a job that goes on on `awaited` and will
/// not begin on `unsent`.
pub(super) fn show<'a>(
    jid: &Jid,
    awaited: &[String],
    unsent: impl IntoIterator<Item = &'a str>,
    screen: &mut Screen,
) -> Exit {
    screen.error_line(&format!(
        "\nExiting gracefully on Ctrl-c\nThis job's jid is: {jid}\nThe minions may not have all \
         finished running and any remaining minions will return upon completion. To look up the \
         return data for this job later, run the following command:\n\nsalt-run jobs.lookup_jid \
         {jid}"
    ));
    let mut unsent: Vec<&str> = unsent.into_iter().collect();
    unsent.sort_unstable();
    let awaited = awaited.iter().map(String::as_str).collect();
    let lines = [
        ("Not returned yet", named(awaited)),
        ("Not sent to", named(unsent)),
    ];
    let lines: Vec<String> = lines
        .into_iter()
        .filter_map(|(what, who)| Some(format!("\n{what}: {}", who?)))
        .collect();
    if !lines.is_empty() {
        screen.error_line(&lines.concat());
    }
    Exit::Failure
}

fn named(ids: Vec<&str>) -> Option<String> {
    match ids.len() {
        0 => None,
        1..=NAMES_MAX => Some(ids.join(", ")),
        count => Some(format!("{count} minions")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(awaited: &[&str], unsent: &[&str]) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let jid = Jid::parse("20260102030405000000").unwrap();
        let awaited: Vec<String> = awaited.iter().map(|id| (*id).to_owned()).collect();
        let mut screen = Screen::to_writers(&mut out, &mut err);
        let exit = show(&jid, &awaited, unsent.iter().copied(), &mut screen);
        drop(screen);
        assert_eq!((exit, out.as_slice()), (Exit::Failure, &[][..]));
        String::from_utf8(err).unwrap()
    }

    #[test]
    fn who_is_left_is_named() {
        let all = said(&[], &[]);
        assert!(all.starts_with(
            "\nExiting gracefully on Ctrl-c\nThis job's jid is: 20260102030405000000\n"
        ));
        assert!(all.ends_with("salt-run jobs.lookup_jid 20260102030405000000\n"));
        let one = said(&["web1"], &[]);
        assert!(one.ends_with("000000\n\nNot returned yet: web1\n"), "{one}");
        let batch = said(&["web1"], &["web3", "web2"]);
        assert!(
            batch.ends_with("\nNot returned yet: web1\nNot sent to: web2, web3\n"),
            "{batch}"
        );
        let many = said(&["x"; 11], &[]);
        assert!(many.ends_with("\nNot returned yet: 11 minions\n"), "{many}");
    }
}
