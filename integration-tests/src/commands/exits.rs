//! The page of the commands whose exit code differs from Salt's (`docs/exit-codes.md`).

use std::fmt::Write as _;

use super::recorded::Recorded;
use super::table::Chapter;

/// What stands above the list.
const HEAD: &str = "\
# Commands whose exit code differs from Salt's

Of all commands in `integration-tests/tests/commands`, these intentionally end with a
different exit code than with Salt 3008.5. The test that compares them writes this
page (`HALITE_UPDATE_COMMANDS`). `{fleet}` is a directory.

| command | Salt | Halite | why |
| --- | --- | --- | --- |
";

/// The page of a table.
pub fn exits(chapters: &[(Chapter, Recorded)]) -> String {
    let mut page = HEAD.to_owned();
    for (chapter, recorded) in chapters {
        for row in &chapter.rows {
            let answers = (recorded.salt.get(&row.line), recorded.ours.get(&row.line));
            let (Some(salt), Some(ours)) = answers else {
                continue;
            };
            if salt.exit == ours.exit {
                continue;
            }
            let line = row.line.replace('|', "\\|");
            let why = row.differs.as_deref().unwrap_or_default();
            let (salt, ours) = (salt.exit, ours.exit);
            writeln!(page, "| `{line}` | {salt} | {ours} | {why} |").ok();
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Answer, Said};
    use super::*;

    #[test]
    fn only_other_exit_codes_are_listed() {
        let line = "salt 'a|b' test.ping";
        let text = format!("{line}\n    differs: because\nsalt b test.ping\n");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.txt");
        std::fs::write(&path, text).unwrap();
        let answer = |exit| Answer {
            exit,
            said: Said::Anything,
            stderr: None,
        };
        let mut recorded = Recorded::default();
        for (line, ours) in [(line, 1), ("salt b test.ping", 0)] {
            recorded.salt.insert(line.to_owned(), answer(0));
            recorded.ours.insert(line.to_owned(), answer(ours));
        }
        let list = exits(&[(Chapter::read(&path).unwrap(), recorded)]);
        assert!(list.ends_with("--- |\n| `salt 'a\\|b' test.ping` | 0 | 1 | because |\n"));
    }
}
