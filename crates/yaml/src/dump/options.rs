//! How values are written.

/// Where lists and maps are written on one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowStyle {
    /// Nowhere, except empty ones: `default_flow_style=False`.
    Block,
    /// Everywhere: `default_flow_style=True`.
    Flow,
    /// Where they hold only scalars: `default_flow_style=None`, what Salt does
    /// unless told otherwise.
    #[default]
    Leaves,
}

/// How scalars are quoted: `default_style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScalarQuotes {
    /// Where they have to be.
    #[default]
    WhereNeeded,
    /// Always with single quotes.
    Single,
    /// Always with double quotes.
    Double,
}

/// How to write a value; the defaults are those of Salt's `safe_dump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpOptions {
    /// Where lists and maps are written on one line.
    pub flow: FlowStyle,
    /// How scalars are quoted.
    pub quotes: ScalarQuotes,
    /// Whether maps are sorted by key, if their keys can be compared.
    pub sort_keys: bool,
    /// Columns per level, 2 to 9; anything else means 2.
    pub indent: i32,
    /// Columns after which text is folded at a blank; negative for never.
    pub width: i32,
    /// Whether characters beyond ASCII are escaped (`allow_unicode=False`).
    pub ascii: bool,
    /// Whether `---` comes first.
    pub explicit_start: bool,
    /// Whether `...` comes last.
    pub explicit_end: bool,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self {
            flow: FlowStyle::default(),
            quotes: ScalarQuotes::default(),
            sort_keys: true,
            indent: 2,
            width: 80,
            ascii: false,
            explicit_start: false,
            explicit_end: false,
        }
    }
}

impl DumpOptions {
    /// The defaults with every list and map on lines of its own.
    pub fn block() -> Self {
        Self {
            flow: FlowStyle::Block,
            ..Self::default()
        }
    }

    /// The defaults with everything on one line, as far as the width allows.
    pub fn flow() -> Self {
        Self {
            flow: FlowStyle::Flow,
            ..Self::default()
        }
    }

    /// The same, with maps in their own order.
    #[must_use]
    pub fn unsorted(self) -> Self {
        Self {
            sort_keys: false,
            ..self
        }
    }
}
