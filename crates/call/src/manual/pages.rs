//! The sources of the pages: text files, one block for each function or state.

/// What is said of a function or state beside its own text and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// `module.function`.
    pub name: &'static str,
    /// What a function returns; what a state reports as its changes.
    pub returns: &'static str,
    /// Calls of a function; SLS files with one state.
    pub examples: Vec<Example>,
    /// Values that a call takes by name beside its arguments: `NAME: TYPE`.
    pub named: Vec<&'static str>,
    /// What differs from Salt, a sentence or two each.
    pub differs: Vec<&'static str>,
}

/// An example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The arguments as they are typed behind a function's name, or an SLS file.
    pub text: String,
    /// What the call answers, as JSON.
    pub answer: Option<&'static str>,
}

/// Stands for a call without arguments.
const NO_ARGUMENTS: &str = "-";

/// Separates a call from its answer.
const ANSWER: &str = " => ";

/// Separates the SLS files of a state.
const NEXT_SLS: &str = "--";

/// Begins a value that is taken by name.
const NAMED: &str = "+ ";

/// Begins what differs from Salt.
const DIFFERS: &str = "! ";

/// Reads pages of functions: `NAME: RETURNS`, and below it, set off, a call a
/// line, with its answer behind `=>` where a test compares it. `+` begins a value
/// that is taken by name, `!` what differs from Salt.
pub(super) fn function_pages(text: &'static str) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("    "), pages.last_mut()) {
            (Some(line), Some(page)) => {
                if let Some(differs) = line.strip_prefix(DIFFERS) {
                    page.differs.push(differs);
                } else if let Some(named) = line.strip_prefix(NAMED) {
                    page.named.push(named);
                } else {
                    page.examples.push(call(line));
                }
            }
            _ => pages.extend(header(line)),
        }
    }
    pages
}

/// Reads pages of states: `# NAME: CHANGES`, and below it SLS files.
pub(super) fn state_pages(text: &'static str) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    for line in text.lines() {
        if let Some(page) = line.strip_prefix("# ").and_then(header) {
            pages.push(page);
        } else if let Some(page) = pages.last_mut() {
            if let Some(differs) = line.strip_prefix(DIFFERS) {
                page.differs.push(differs);
                continue;
            }
            if line == NEXT_SLS || page.examples.is_empty() {
                page.examples.push(Example {
                    text: String::new(),
                    answer: None,
                });
            }
            if let Some(example) = page.examples.last_mut().filter(|_| line != NEXT_SLS) {
                example.text.push_str(line);
                example.text.push('\n');
            }
        }
    }
    pages
}

fn header(line: &'static str) -> Option<Page> {
    let (name, returns) = line.split_once(": ")?;
    Some(Page {
        name,
        returns,
        examples: Vec::new(),
        named: Vec::new(),
        differs: Vec::new(),
    })
}

fn call(line: &'static str) -> Example {
    let (text, answer) = match line.split_once(ANSWER) {
        Some((text, answer)) => (text, Some(answer)),
        None => (line, None),
    };
    let text = if text == NO_ARGUMENTS { "" } else { text };
    Example {
        text: text.to_owned(),
        answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &Page) -> Vec<&str> {
        let texts = page.examples.iter().map(|example| example.text.as_str());
        texts.collect()
    }

    #[test]
    fn a_function_has_calls_and_answers() {
        let pages = function_pages(
            "a.b: a text\n    + y: a text\n    -\n    x y=1 => \"z\"\n    ! Other.\na.c: 1\n",
        );
        assert_eq!(texts(&pages[0]), ["", "x y=1"]);
        assert_eq!(pages[0].examples[1].answer, Some("\"z\""));
        assert_eq!(
            (pages[0].returns, &pages[0].differs[..]),
            ("a text", &["Other."][..])
        );
        assert_eq!((pages[1].name, pages.len()), ("a.c", 2));
    }

    #[test]
    fn a_state_has_sls_files() {
        let pages =
            state_pages("# a.b: diff\n! Other.\nx:\n  a.b: []\n--\ny:\n  a.b: []\n# a.c: y\n");
        assert_eq!(texts(&pages[0]), ["x:\n  a.b: []\n", "y:\n  a.b: []\n"]);
        assert_eq!(pages[0].differs, ["Other."]);
        assert_eq!((pages[1].name, pages.len()), ("a.c", 2));
    }
}
