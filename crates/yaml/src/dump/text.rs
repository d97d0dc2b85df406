//! Scalars as text: which styles a text allows, and how each is written, by
//! libyaml's rules (0.2.5).
//!
//! Invariant: a text written in a style reads back as the same text.

use super::writer::Writer;

/// The styles in which a scalar can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// What a text allows.
pub(super) struct Analysis {
    pub(super) multiline: bool,
    flow_plain: bool,
    block_plain: bool,
    single: bool,
    literal: bool,
}

impl Analysis {
    /// Looks at every character of `text`.
    pub(super) fn new(text: &str, ascii: bool) -> Self {
        let mut scan = Scan {
            special: ascii && !text.is_ascii(),
            ..Scan::default()
        };
        if text.starts_with("---") || text.starts_with("...") {
            scan.block_indicators = true;
            scan.flow_indicators = true;
        }
        let mut chars = text.chars().peekable();
        let mut previous = None;
        while let Some(c) = chars.next() {
            scan.character(previous, c, chars.peek().copied());
            previous = Some(c);
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let at_edges = edge(text.chars().next()) || edge(previous);
        let special = scan.space_break || scan.special;
        let plain = !at_edges && !scan.break_space && !special && !scan.breaks;
        Self {
            multiline: scan.breaks,
            flow_plain: plain && !scan.flow_indicators && !text.is_empty(),
            block_plain: plain && !scan.block_indicators,
            single: !scan.break_space && !special,
            literal: previous != Some(' ') && !special && !text.is_empty(),
        }
    }

    /// The style in which the text is written if `wanted` is not possible.
    /// `key` is whether it is a key without `?`, `implicit` whether the text
    /// would be read as its own type if plain.
    pub(super) fn style(&self, wanted: Style, flow: bool, key: bool, implicit: bool) -> Style {
        let mut style = wanted;
        if key && self.multiline {
            style = Style::Double;
        }
        if style == Style::Plain {
            let allowed = if flow {
                self.flow_plain
            } else {
                self.block_plain
            };
            let empty_key = key && !self.flow_plain && self.block_plain && self.is_empty();
            if !allowed || empty_key || !implicit {
                style = Style::Single;
            }
        }
        if style == Style::Single && !self.single {
            style = Style::Double;
        }
        if style == Style::Literal && (!self.literal || flow || key) {
            style = Style::Double;
        }
        style
    }

    /// Only the empty text may be plain in blocks and never a literal.
    fn is_empty(&self) -> bool {
        self.block_plain && !self.flow_plain && !self.literal
    }
}

#[derive(Default)]
struct Scan {
    block_indicators: bool,
    flow_indicators: bool,
    breaks: bool,
    special: bool,
    break_space: bool,
    space_break: bool,
}

impl Scan {
    fn character(&mut self, previous: Option<char>, c: char, next: Option<char>) {
        let before_blank = next.is_none_or(|next| is_blank(next) || is_break(next));
        let after_blank = previous.is_none_or(|previous| is_blank(previous) || is_break(previous));
        let first = previous.is_none();
        match c {
            '#' if after_blank => self.indicate(true),
            '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if first => {
                self.indicate(true);
            }
            ',' | '[' | ']' | '{' | '}' => self.indicate(first),
            ':' => self.indicate(before_blank),
            '?' => self.indicate(first && before_blank),
            '-' if first && before_blank => self.indicate(true),
            _ => {}
        }
        self.special |= !is_printable(c);
        self.breaks |= is_break(c);
        if c == ' ' {
            self.break_space |= previous.is_some_and(is_break);
        } else if is_break(c) {
            self.space_break |= previous == Some(' ');
        }
    }

    /// A character that would mean something in flow style and, if `block`,
    /// in block style too.
    fn indicate(&mut self, block: bool) {
        self.flow_indicators = true;
        self.block_indicators |= block;
    }
}

impl Writer {
    /// Writes `text` in `style`; folds long lines at blanks if `fold`.
    pub(super) fn text(&mut self, text: &str, style: Style, fold: bool) {
        match style {
            Style::Plain => self.plain(text, fold),
            Style::Single => self.single(text, fold),
            Style::Double => self.double(text, fold),
            Style::Literal => self.literal(text),
        }
    }

    /// Plain text never holds line breaks: [`Analysis`] sees to that.
    fn plain(&mut self, text: &str, fold: bool) {
        if !self.whitespace && (!text.is_empty() || self.flow > 0) {
            self.put(' ');
        }
        let mut chars = text.chars().peekable();
        let mut spaces = false;
        while let Some(c) = chars.next() {
            if c == ' ' {
                let single = !spaces && chars.peek() != Some(&' ');
                self.space_or_fold(fold && single);
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
            self.indention &= c == ' ';
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn space_or_fold(&mut self, may_fold: bool) {
        if may_fold && self.is_past_width() {
            self.indent();
        } else {
            self.put(' ');
        }
    }

    fn single(&mut self, text: &str, fold: bool) {
        self.indicator("'", true, false, false);
        let mut chars = text.chars().peekable();
        let (mut spaces, mut breaks, mut first) = (false, false, true);
        while let Some(c) = chars.next() {
            if c == ' ' {
                let inner = !first && chars.peek().is_some_and(|next| *next != ' ');
                self.space_or_fold(fold && !spaces && inner);
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.line_break('\n');
                }
                self.line_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.indent();
                }
                if c == '\'' {
                    self.put('\'');
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
            first = false;
        }
        if breaks {
            self.indent();
        }
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn double(&mut self, text: &str, fold: bool) {
        self.indicator("\"", true, false, false);
        let mut chars = text.chars().peekable();
        let (mut spaces, mut first) = (false, true);
        while let Some(c) = chars.next() {
            if c == ' ' {
                let inner = !first && chars.peek().is_some();
                if fold && !spaces && inner && self.is_past_width() {
                    self.indent();
                    if chars.peek() == Some(&' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                if !is_printable(c)
                    || self.ascii && !c.is_ascii()
                    || is_break(c)
                    || c == '"'
                    || c == '\\'
                {
                    for c in escape(c).chars() {
                        self.put(c);
                    }
                } else {
                    self.put(c);
                }
                spaces = false;
            }
            first = false;
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Only base 64 is written this way: lines without blanks, all ended.
    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if !text.ends_with('\n') {
            self.indicator("-", false, false, false);
        }
        self.line_break('\n');
        self.indention = true;
        self.whitespace = true;
        for line in text.split_inclusive('\n') {
            self.indent();
            for c in line.chars() {
                if c == '\n' {
                    self.line_break(c);
                } else {
                    self.put(c);
                }
            }
            self.indention = line.ends_with('\n');
        }
    }
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What libyaml writes as it is: not the controls, the byte order mark and,
/// since its check knows only three bytes, what is beyond U+FFFF.
fn is_printable(c: char) -> bool {
    matches!(c,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}')
}
