//! A program on a terminal of a given width, and the visible screen.
//!
//! Invariant: the program and its children are dead when the terminal is dropped.

use std::fs::File;
use std::io::Read as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::pty::{Winsize, openpty};

use crate::process::{Recipe, Running};

/// Rows of every terminal.
const ROWS: u16 = 24;

/// A program that runs on a terminal.
#[derive(Debug)]
pub struct Terminal {
    running: Running,
    bytes: Receiver<Vec<u8>>,
    written: Vec<u8>,
    typed: String,
}

impl Terminal {
    /// Starts a program on a terminal of so many columns.
    pub fn start(recipe: &Recipe, columns: u16) -> Result<Self> {
        let size = Winsize {
            ws_row: ROWS,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(&size, None).context("no terminal")?;
        let screen = File::from(pair.slave);
        let running = Running::start(recipe, screen.try_clone()?, screen)?;
        let mut seen = File::from(pair.master);
        let (sender, bytes) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end of a terminal is an error, too.
            while let Ok(count @ 1..) = seen.read(&mut buffer) {
                if sender
                    .send(buffer.get(..count).unwrap_or_default().to_vec())
                    .is_err()
                {
                    break;
                }
            }
        });
        Ok(Self {
            running,
            bytes,
            written: Vec::new(),
            typed: recipe.typed(),
        })
    }

    /// Waits until the program has written `text`.
    pub fn wait(&mut self, text: &str, deadline: Duration) -> Result<()> {
        self.wait_for(text, deadline, |written| written.contains(text))
    }

    /// Waits until what the program has written is `what`.
    pub fn wait_for(
        &mut self,
        what: &str,
        deadline: Duration,
        is_it: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let begun = Instant::now();
        while !is_it(&String::from_utf8_lossy(&self.written)) {
            match self
                .bytes
                .recv_timeout(deadline.saturating_sub(begun.elapsed()))
            {
                Ok(bytes) => self.written.extend(bytes),
                Err(_) => bail!("`{}` did not write {what:?} but {}", self.typed, self.raw()),
            }
        }
        Ok(())
    }

    /// Waits for the end; gives the exit code and what stands on the terminal
    /// then, lines that have scrolled away included.
    pub fn end(mut self, deadline: Duration) -> Result<(i32, String)> {
        let begun = Instant::now();
        loop {
            match self
                .bytes
                .recv_timeout(deadline.saturating_sub(begun.elapsed()))
            {
                Ok(bytes) => self.written.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("no end of `{}`, which wrote {}", self.typed, self.raw())
                }
            }
        }
        let status = self.running.wait(deadline).context("it runs on")?;
        Ok((status.code().unwrap_or(-1), shown(&self.raw())))
    }

    fn raw(&self) -> String {
        String::from_utf8_lossy(&self.written).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.running.end();
    }
}

/// What stands on a terminal after these bytes; colours stay before what they
/// colour.
fn shown(raw: &str) -> String {
    let mut rows: Vec<Vec<String>> = vec![Vec::new()];
    let (mut row, mut column) = (0, 0);
    let mut color = String::new();
    let mut chars = raw.chars();
    while let Some(char) = chars.next() {
        match char {
            '\r' => column = 0,
            '\n' => {
                if let Some(line) = rows.get_mut(row) {
                    // Colours that end behind the last character.
                    if let Some(last) = line.last_mut() {
                        last.push_str(&std::mem::take(&mut color));
                    }
                }
                row += 1;
                column = 0;
                if row == rows.len() {
                    rows.push(Vec::new());
                }
            }
            '\u{1b}' => {
                let mut code = String::new();
                let kind = chars.by_ref().find(|char| {
                    code.push(*char);
                    char.is_ascii_alphabetic()
                });
                match kind {
                    Some('A') => {
                        let up = code.trim_matches(['[', 'A']).parse().unwrap_or(1);
                        row = row.saturating_sub(up);
                    }
                    Some('J') => {
                        rows.truncate(row + 1);
                        if let Some(line) = rows.get_mut(row) {
                            line.truncate(column);
                        }
                    }
                    _ => color.push_str(&format!("\u{1b}{code}")),
                }
            }
            char => {
                let cell = format!("{}{char}", std::mem::take(&mut color));
                if let Some(line) = rows.get_mut(row) {
                    line.truncate(column.max(line.len().min(column)));
                    line.push(cell);
                }
                column += 1;
            }
        }
    }
    let lines: Vec<String> = rows.into_iter().map(|row| row.concat()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn lines_that_are_taken_away_leave_nothing() {
        let raw = "\r\u{1b}[Ja\r\nb\r\u{1b}[1A\u{1b}[Jweb1:\r\n    \u{1b}[0;32mTrue\u{1b}[0;0m\r\n\r\u{1b}[Jx\r\u{1b}[Jend\r\n";
        assert_eq!(shown(raw), "web1:\n    \u{1b}[0;32mTrue\u{1b}[0;0m\nend\n");
    }
}
