//! Boxed columns for lists of maps or texts (`salt/output/table_out.py`,
//! 3008.5).

use halite_proto::{Map, Value};

use crate::{Color, Palette, RenderOptions, Unfit, python};

/// How much deeper a value stands than its key.
const STEP: usize = 4;

/// From this width on, words of a cell go to its next line.
const CELL_WIDTH: usize = 50;

const DELIMITER: &str = " | ";
const EDGES: (&str, &str) = ("| ", " |");

pub(crate) fn render(data: &Value, options: &RenderOptions) -> Result<String, Unfit> {
    let mut table = Table {
        palette: Palette::new(options.color),
        lines: Vec::new(),
    };
    table.value(data, options.nested_indent)?;
    Ok(table.lines.join("\n"))
}

struct Table {
    palette: Palette,
    lines: Vec<String>,
}

impl Table {
    fn line(&mut self, indent: usize, color: Color, text: &str, suffix: &str) {
        self.lines.push(format!(
            "{}{}{text}{}{suffix}",
            " ".repeat(indent),
            self.palette.start(color),
            self.palette.end(),
        ));
    }

    fn value(&mut self, value: &Value, indent: usize) -> Result<(), Unfit> {
        match value {
            Value::Map(map) => {
                for (key, value) in python::sorted(map).ok_or(Unfit)? {
                    self.line(indent, Color::DarkGray, &python::str(key), ":");
                    self.line(indent, Color::DarkGray, "----------", "");
                    match value {
                        Value::List(rows) => self.rows(rows, indent)?,
                        _ => self.value(value, indent + STEP)?,
                    }
                }
                Ok(())
            }
            Value::List(rows) => self.rows(rows, indent),
            _ => Ok(()),
        }
    }

    fn rows(&mut self, rows: &[Value], indent: usize) -> Result<(), Unfit> {
        let Some(first) = rows.first() else {
            return Ok(());
        };
        if rows.iter().any(|row| row.type_name() != first.type_name()) {
            return Ok(());
        }
        let mut cells: Vec<Vec<String>> = Vec::new();
        if let Value::Map(first) = first
            && !first.is_empty()
        {
            cells.push(labels(first)?);
        }
        for row in rows {
            cells.push(match row {
                Value::Map(row) => {
                    let row = python::sorted(row).ok_or(Unfit)?;
                    row.into_iter()
                        .map(|(_, value)| python::str(value))
                        .collect()
                }
                Value::Str(text) => vec![text.clone()],
                Value::List(items) => {
                    let text = |item: &Value| item.as_str().map(str::to_owned).ok_or(Unfit);
                    items.iter().map(text).collect::<Result<_, _>>()?
                }
                _ => return Err(Unfit),
            });
        }
        self.boxes(&cells, indent + STEP)
    }

    fn boxes(&mut self, rows: &[Vec<String>], indent: usize) -> Result<(), Unfit> {
        if rows.iter().any(Vec::is_empty) {
            return Err(Unfit);
        }
        let rows: Vec<Vec<Vec<String>>> = rows.iter().map(|row| wrapped(row)).collect();
        let columns = rows.iter().flatten().map(Vec::len).min().unwrap_or(0);
        if columns == 0 {
            return Err(Unfit);
        }
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = rows.iter().flatten().map(|row| python::len(&row[column]));
                cells.max().unwrap_or(0)
            })
            .collect();
        let width = widths.iter().sum::<usize>()
            + EDGES.0.len()
            + EDGES.1.len()
            + DELIMITER.len() * (columns - 1);
        let separator = "-".repeat(width);
        self.line(indent, Color::LightGray, &separator, "");
        for row in &rows {
            for line in row {
                let cells = line
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| centered(cell, *width));
                let cells = cells.collect::<Vec<_>>().join(DELIMITER);
                let line = format!("{}{cells}{}", EDGES.0, EDGES.1);
                self.line(indent, Color::White, &line, "");
            }
            self.line(indent, Color::LightGray, &separator, "");
        }
        Ok(())
    }
}

fn labels(row: &Map) -> Result<Vec<String>, Unfit> {
    let row = python::sorted(row).ok_or(Unfit)?;
    Ok(row
        .into_iter()
        .map(|(key, _)| title(&python::str(key).replace('_', " ")))
        .collect())
}

/// The lines of a row; a cell with more of them than another loses the rest, as
/// in Salt.
fn wrapped(row: &[String]) -> Vec<Vec<String>> {
    let cells: Vec<Vec<String>> = row.iter().map(|cell| wrapped_cell(cell)).collect();
    let lines = cells.iter().map(Vec::len).min().unwrap_or(0);
    (0..lines)
        .map(|line| cells.iter().map(|cell| cell[line].clone()).collect())
        .collect()
}

fn wrapped_cell(text: &str) -> Vec<String> {
    let mut wrapped = String::new();
    let mut used = 0;
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            let width = python::len(word.split('\n').next().unwrap_or(word));
            let separator = if used + width >= CELL_WIDTH {
                '\n'
            } else {
                ' '
            };
            wrapped.push(separator);
        }
        wrapped.push_str(word);
        let line = wrapped.rsplit('\n').next().unwrap_or(&wrapped);
        used = python::len(line);
    }
    wrapped.split('\n').map(str::to_owned).collect()
}

/// `str.center`: an odd blank goes to the left where the width is odd.
fn centered(text: &str, width: usize) -> String {
    let pad = width.saturating_sub(python::len(text));
    let left = pad / 2 + (pad & width & 1);
    format!("{}{text}{}", " ".repeat(left), " ".repeat(pad - left))
}

/// `str.title`: a letter behind anything but a letter is upper case.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_word = false;
    for char in text.chars() {
        if in_word {
            out.extend(char.to_lowercase());
        } else {
            out.extend(char.to_uppercase());
        }
        in_word = char.is_alphabetic();
    }
    out
}
