//! The text being written, and where in its line it is.

/// Collects the text. The two flags are libyaml's way to know where a blank or
/// a line break is needed before what comes next.
pub(super) struct Writer {
    pub(super) out: String,
    column: i32,
    width: i32,
    step: i32,
    level: i32,
    levels: Vec<i32>,
    /// How many flow collections are open.
    pub(super) flow: usize,
    /// Whether the last character was a blank or started the line.
    pub(super) whitespace: bool,
    /// Whether there have been only blanks and indicators on the line.
    pub(super) indention: bool,
    /// Whether characters beyond ASCII are escaped.
    pub(super) ascii: bool,
}

impl Writer {
    /// Starts a text with `step` columns per level and lines of `width`.
    pub(super) fn new(step: i32, width: i32) -> Self {
        const STEP: i32 = 2;
        const WIDTH: i32 = 80;
        let step = if (2..10).contains(&step) { step } else { STEP };
        let width = match width {
            ..0 => i32::MAX,
            width if width <= step * 2 => WIDTH,
            width => width,
        };
        Self {
            out: String::new(),
            ascii: false,
            column: 0,
            width,
            step,
            level: -1,
            levels: Vec::new(),
            flow: 0,
            whitespace: true,
            indention: true,
        }
    }

    pub(super) fn is_past_width(&self) -> bool {
        self.column > self.width
    }

    pub(super) fn put(&mut self, c: char) {
        self.out.push(c);
        self.column = self.column.saturating_add(1);
    }

    pub(super) fn line_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    /// Starts a new line, unless this one is new, and goes to the level's
    /// column.
    pub(super) fn indent(&mut self) {
        let column = self.level.max(0);
        let used = self.column > column || (self.column == column && !self.whitespace);
        if !self.indention || used {
            self.line_break('\n');
        }
        while self.column < column {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// One level further in, for a flow collection or a scalar.
    pub(super) fn enter_flow(&mut self) {
        self.levels.push(self.level);
        self.level = if self.level < 0 {
            self.step
        } else {
            self.level.saturating_add(self.step)
        };
    }

    /// One level further in for a block collection, or the same level for a
    /// list that is a map's value.
    pub(super) fn enter_block(&mut self, same: bool) {
        self.levels.push(self.level);
        if self.level < 0 {
            self.level = 0;
        } else if !same {
            self.level = self.level.saturating_add(self.step);
        }
    }

    pub(super) fn leave(&mut self) {
        self.level = self.levels.pop().unwrap_or(-1);
    }

    /// Writes an indicator: with a blank in front if `blank`, and with the
    /// flags it leaves behind.
    pub(super) fn indicator(&mut self, text: &str, blank: bool, whitespace: bool, indention: bool) {
        if blank && !self.whitespace {
            self.put(' ');
        }
        for c in text.chars() {
            self.put(c);
        }
        self.whitespace = whitespace;
        self.indention &= indention;
    }
}
