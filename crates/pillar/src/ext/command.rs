//! The command of `cmd_yaml` and `cmd_json` with the minion's id in it.
//!
//! Invariant: the id is a part of the word around `%s`, and nothing else, whether a
//! shell reads the command or only its words are split. Most ids need no quotes;
//! one that does gets them, outside of quotes that the command already has.

use halite_call::shlex;

/// What stands for the id.
const PLACE: &str = "%s";

/// Puts the id into the command.
///
/// # Errors
/// When the id needs quotes, and the command is one whose quotes only a shell
/// could tell.
pub(super) fn named(command: &str, id: &str) -> Result<String, String> {
    let quoted = shlex::quote(id);
    if quoted == id || !command.contains(PLACE) {
        return Ok(command.replace(PLACE, id));
    }
    // The last is a place whose first character is quoted by itself.
    if command.contains(['`', '$', '#']) || command.contains("<<") || command.contains("\\%s") {
        return Err(format!(
            "the minion id {id:?} holds characters that a shell reads, and the command \
             has expansions: `%s` cannot be quoted there"
        ));
    }
    let mut whole = String::with_capacity(command.len() + quoted.len());
    let mut open = None;
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix(PLACE) {
            whole.extend(open);
            whole.push_str(&quoted);
            whole.extend(open);
            rest = behind;
            continue;
        }
        whole.push(c);
        rest = &rest[c.len_utf8()..];
        match (open, c) {
            (None, '\'' | '"') => open = Some(c),
            (Some(quote), c) if quote == c => open = None,
            (None | Some('"'), '\\') => {
                if let Some(next) = rest.chars().next() {
                    whole.push(next);
                    rest = &rest[next.len_utf8()..];
                }
            }
            _ => {}
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, id: &str, words: &[&str]) {
        let command = named(command, id).unwrap();
        assert_eq!(shlex::split(&command).unwrap(), words, "{command}");
        let shown = std::process::Command::new("sh")
            .args(["-c", &format!("set -- {command}; printf '%s\\n' \"$@\"")])
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.lines().collect::<Vec<_>>(), words, "{command}");
    }

    #[test]
    fn an_id_is_a_part_of_its_word_and_nothing_else() {
        for id in [
            "web1", "x;id>F;", "$(id)", "`id`", "a b", "*", "a'b", "a\"b", "ž",
        ] {
            let path = format!("/x/{id}.yml");
            let said = format!("it's {id}");
            check("cat /x/%s.yml", id, &["cat", &path]);
            check("cat '/x/%s.yml'", id, &["cat", &path]);
            check("cat \"/x/%s.yml\" %s", id, &["cat", &path, id]);
            check("echo it\\'s\" %s\" end", id, &["echo", &said, "end"]);
        }
    }

    #[test]
    fn what_cannot_be_quoted_is_refused() {
        for command in [
            "echo $(cat %s)",
            "echo `cat %s`",
            "cat <<E\n%s\nE",
            "x # it's\n%s",
            "cat \\%s",
        ] {
            assert!(named(command, "a;b").is_err(), "{command}");
            let plain = named(command, "web1").unwrap();
            assert_eq!(plain, command.replace("%s", "web1"));
        }
    }
}
