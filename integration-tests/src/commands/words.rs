//! Splits a command line into words, as a shell does: quotes and backslashes,
//! nothing else.

use anyhow::{Result, bail};

/// The words of a line.
pub fn words(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(char) => word.push(char),
                        None => bail!("no end of ' in {line}"),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('"') => break,
                        Some('\\') => word.extend(chars.next()),
                        Some(char) => word.push(char),
                        None => bail!("no end of \" in {line}"),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quotes_hold_words_together() {
        let cut = words(r#"salt 'web*'  cmd.run "echo \"a b\"" '' x\ y a'b'c"#).unwrap();
        assert_eq!(
            cut,
            ["salt", "web*", "cmd.run", "echo \"a b\"", "", "x y", "abc"]
        );
        assert!(words("salt 'web").is_err());
        assert!(words("salt \"web").is_err());
    }
}
