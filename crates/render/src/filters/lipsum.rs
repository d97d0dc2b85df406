//! Jinja2's `lipsum`: paragraphs of meaningless text.

use halite_jinja::{Error, Result};
use halite_proto::Value;

use super::Args;
use super::chance::Source;
use crate::limits::LIPSUM_WORDS_MAX;

/// The classic passage.
const WORDS: &str = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod \
    tempor incididunt ut labore et dolore magna aliqua enim ad minim veniam quis nostrud \
    exercitation ullamco laboris nisi aliquip ex ea commodo consequat duis aute irure in \
    reprehenderit voluptate velit esse cillum eu fugiat nulla pariatur excepteur sint \
    occaecat cupidatat non proident sunt culpa qui officia deserunt mollit anim id est laborum";

/// Words between two commas, and between two full stops, at least.
const COMMA_AFTER: usize = 4;
const STOP_AFTER: usize = 10;

/// `lipsum(n=5, html=True, min=20, max=100)`: paragraphs of at least `min` and
/// fewer than `max` words.
pub(super) fn lipsum(args: &Args<'_>) -> Result<Value> {
    let count = args.size_or(0, "n", 5)?;
    let html = args.flag_or(1, "html", true);
    let (min, max) = (args.size_or(2, "min", 20)?, args.size_or(3, "max", 100)?);
    if max <= min {
        return Err(Error::foreign("empty range for lipsum()"));
    }
    if count.saturating_mul(max) > LIPSUM_WORDS_MAX {
        return Err(Error::foreign(format!(
            "lipsum gives at most {LIPSUM_WORDS_MAX} words"
        )));
    }
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut source = Source::from_seed(None);
    let paragraphs: Vec<String> = (0..count)
        .map(|_| {
            let length = min + source.below(max - min);
            let text = paragraph(&words, length, &mut source);
            if html { format!("<p>{text}</p>") } else { text }
        })
        .collect();
    let between = if html { "\n" } else { "\n\n" };
    Ok(paragraphs.join(between).into())
}

/// Sentences: the first word of each in capitals, a full stop at the end.
fn paragraph(words: &[&str], length: usize, source: &mut Source) -> String {
    let mut text = String::new();
    let (mut comma, mut stop) = (0, 0);
    for index in 0..length {
        let word = words.get(source.below(words.len())).copied();
        let word = word.unwrap_or_default();
        if index > 0 {
            text.push(' ');
        }
        if stop == 0 {
            text.extend(word.chars().next().map(|first| first.to_ascii_uppercase()));
            text.push_str(word.get(1..).unwrap_or_default());
        } else {
            text.push_str(word);
        }
        comma += 1;
        stop += 1;
        if index + 1 == length {
            text.push('.');
        } else if stop > STOP_AFTER + source.below(STOP_AFTER) {
            text.push('.');
            (comma, stop) = (0, 0);
        } else if comma > COMMA_AFTER + source.below(COMMA_AFTER) {
            text.push(',');
            comma = 0;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use halite_proto::Map;

    use super::*;

    fn text(places: &[Value]) -> String {
        let value = lipsum(&Args::new("lipsum", places, &Map::new())).unwrap();
        value.as_str().unwrap().to_owned()
    }

    #[test]
    fn there_are_as_many_paragraphs_and_words_as_wanted() {
        let html = text(&[]);
        assert_eq!(html.matches("<p>").count(), 5);
        assert!(html.ends_with(".</p>"));
        let plain = text(&[3.into(), false.into(), 7.into(), 8.into()]);
        let paragraphs: Vec<&str> = plain.split("\n\n").collect();
        assert_eq!(paragraphs.len(), 3);
        for paragraph in paragraphs {
            assert_eq!(paragraph.split(' ').count(), 7);
            assert!(paragraph.starts_with(|c: char| c.is_ascii_uppercase()));
            assert!(paragraph.ends_with('.'));
        }
    }

    #[test]
    fn too_much_is_refused() {
        let args = [Value::from(1_000_000)];
        assert!(lipsum(&Args::new("lipsum", &args, &Map::new())).is_err());
        let args = [1.into(), true.into(), 5.into(), 5.into()];
        assert!(lipsum(&Args::new("lipsum", &args, &Map::new())).is_err());
    }
}
