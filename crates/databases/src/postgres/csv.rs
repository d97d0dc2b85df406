//! PostgreSQL's output: rows with commas between the fields, and arrays as text.

/// The rows of a text, each with its fields.
pub(super) fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            letter => field.push(letter),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

/// The elements of an array of texts, `{a,"b c"}`.
pub(super) fn array(text: &str) -> Vec<String> {
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let Some(inner) = inner.filter(|inner| !inner.is_empty()) else {
        return Vec::new();
    };
    let mut elements = Vec::new();
    let mut element = String::new();
    let mut quoted = false;
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => element.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => elements.push(std::mem::take(&mut element)),
            letter => element.push(letter),
        }
    }
    elements.push(element);
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_arrays_of_any_text() {
        let text = "name,groups\nann,\"{a,\"\"b c\"\"}\"\n\"x\ny\",\n";
        let read = rows(text);
        assert_eq!(read[0], ["name", "groups"]);
        assert_eq!(read[1], ["ann", "{a,\"b c\"}"]);
        assert_eq!(read[2], ["x\ny", ""]);
        assert_eq!(array(&read[1][1]), ["a", "b c"]);
        assert_eq!(
            array(r#"{"\"odd\"=r/pg",=r/pg}"#),
            ["\"odd\"=r/pg", "=r/pg"]
        );
        assert!(array("{}").is_empty() && array("").is_empty());
        assert!(rows("").is_empty());
    }
}
