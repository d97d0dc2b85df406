//! The colours of a terminal, or none.
//!
//! The codes are Salt's (`salt/utils/color.py`): one reset, one optional
//! brightness, one colour.

/// What a text is coloured as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Bold black.
    DarkGray,
    /// Red.
    Red,
    /// Bold red.
    LightRed,
    /// Green.
    Green,
    /// Bold green.
    LightGreen,
    /// Bold yellow.
    LightYellow,
    /// Blue.
    Blue,
    /// Bold blue.
    LightBlue,
    /// Magenta.
    Magenta,
    /// Bold magenta.
    LightMagenta,
    /// Cyan.
    Cyan,
    /// White.
    LightGray,
    /// Bold white.
    White,
}

/// The sequences to write before and behind a coloured text; all are empty
/// where colours are off.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    on: bool,
}

impl Palette {
    /// A palette that colours if `on`.
    pub const fn new(on: bool) -> Self {
        Self { on }
    }

    /// The sequence that begins `color`.
    pub const fn start(self, color: Color) -> &'static str {
        if !self.on {
            return "";
        }
        match color {
            Color::DarkGray => "\x1b[0;1;30m",
            Color::Red => "\x1b[0;31m",
            Color::LightRed => "\x1b[0;1;31m",
            Color::Green => "\x1b[0;32m",
            Color::LightGreen => "\x1b[0;1;32m",
            Color::LightYellow => "\x1b[0;1;33m",
            Color::Blue => "\x1b[0;34m",
            Color::LightBlue => "\x1b[0;1;34m",
            Color::Magenta => "\x1b[0;35m",
            Color::LightMagenta => "\x1b[0;1;35m",
            Color::Cyan => "\x1b[0;36m",
            Color::LightGray => "\x1b[0;37m",
            Color::White => "\x1b[0;1;37m",
        }
    }

    /// The sequence that ends every colour.
    pub const fn end(self) -> &'static str {
        if self.on { "\x1b[0;0m" } else { "" }
    }
}
