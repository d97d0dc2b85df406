//! Results on the screen or in a file, in the requested format.
//!
//! In order of precedence: `--out`, or `output` in the configuration; the function
//! that returned; else `nested` (`salt/output/__init__.py`, 3008.5).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use halite_output::{HighstateOptions, Indent, Outputter, RenderOptions, Tabular, render};
use halite_proto::{Map, Value};
use thiserror::Error;

use crate::Screen;
use crate::options::OutputOptions;
use crate::outputter::Outputters;

/// The file for the results cannot be written.
#[derive(Debug, Error)]
#[error("could not write results to {}", path.display())]
pub struct OutFileError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// How results are shown.
pub struct Display {
    wish: Option<String>,
    render: RenderOptions,
    file: Option<(PathBuf, File)>,
    python: Outputters,
}

impl Display {
    /// What options and configuration say. `no_color` is the variable
    /// `NO_COLOR`.
    ///
    /// # Errors
    /// When the file of `--out-file` cannot be written.
    pub fn new(
        opts: &Map,
        options: &OutputOptions,
        screen: &Screen,
        no_color: Option<&str>,
    ) -> Result<Self, OutFileError> {
        let text = |name: &str| opts.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut color = options.color_wish();
        color.never |= opts.get("color") == Some(&Value::Bool(false));
        let indent = opts.get("output_indent").and_then(Indent::from_value);
        let file = options
            .out_file
            .clone()
            .or_else(|| text("output_file").map(PathBuf::from));
        let file = file.filter(|path| !path.as_os_str().is_empty());
        Ok(Self {
            wish: options
                .out
                .clone()
                .or_else(|| text("output"))
                .filter(|name| !name.is_empty()),
            render: RenderOptions {
                color: color.decide(screen.is_terminal(), no_color),
                strip_colors: flag(opts, "strip_colors", true),
                indent: options.out_indent.or(indent).unwrap_or_default(),
                highstate: highstate_options(opts, options),
                ..RenderOptions::default()
            },
            file: file
                .map(|path| open(&path, options.out_file_append))
                .transpose()?,
            python: Outputters::new(opts),
        })
    }

    /// Leaves out states that are as they were.
    pub fn only_changes(&mut self) {
        self.render.highstate.diff = true;
    }

    /// Takes `exclude` and `terse` from a command's arguments.
    pub fn filter_by_arguments(&mut self, arguments: &[Value]) {
        let keywords = arguments.iter().filter_map(Value::as_map);
        for map in keywords.filter(|map| map.contains_key(crate::args::KWARG_MARK)) {
            if let Some(exclude) = map.get("exclude") {
                self.render.highstate.exclude = results(exclude);
            }
            if let Some(terse) = map.get("terse") {
                self.render.highstate.terse = results(terse);
            }
        }
    }

    /// Whether a format was asked for.
    pub fn has_wish(&self) -> bool {
        self.wish.is_some()
    }

    /// Shows `data`; `out` is the format that its function asks for, `retcode`
    /// what it returned.
    pub fn show(&mut self, screen: &mut Screen, data: &Value, out: Option<&str>, retcode: i64) {
        let text = self.rendered(data, out, retcode);
        let Some((path, file)) = &mut self.file else {
            screen.rendered(&text);
            return;
        };
        if text.is_empty() {
            return;
        }
        if let Err(error) = file.write_all(format!("{text}\n").as_bytes()) {
            screen.lost(format!(
                "could not write results to {}: {error}",
                path.display()
            ));
        }
    }

    /// The text of `data`.
    pub fn rendered(&self, data: &Value, out: Option<&str>, retcode: i64) -> String {
        let wish = self.wish.as_deref().filter(|wish| *wish != "highstate");
        let name = wish.or_else(|| out.filter(|out| !out.is_empty()));
        let plain = name.unwrap_or("nested");
        let in_python = self.python.render(plain, data, retcode, wish.is_some());
        if let Some(shown) = in_python {
            return shown;
        }
        if let Some(name) = name
            && Outputter::parse(name).is_none()
            // What minions of old ask for.
            && name != "grains"
        {
            tracing::error!("Invalid outputter {name} specified, fall back to nested");
        }
        let options = RenderOptions {
            retcode,
            ..self.render.clone()
        };
        render(name, data, &options)
    }
}

fn open(path: &Path, append: bool) -> Result<(PathBuf, File), OutFileError> {
    let mut how = OpenOptions::new();
    how.create(true).append(true);
    let file = how.open(path).and_then(|file| {
        // A pipe or a terminal has nothing to cut.
        if !append && file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        Ok(file)
    });
    match file {
        Ok(file) => Ok((path.to_owned(), file)),
        Err(source) => Err(OutFileError {
            path: path.to_owned(),
            source,
        }),
    }
}

fn highstate_options(opts: &Map, options: &OutputOptions) -> HighstateOptions {
    let mode = opts.get("state_output").and_then(Value::as_str);
    let list = |name: &str| opts.get(name).map(results).unwrap_or_default();
    let verbose = options.state_verbose.as_deref();
    HighstateOptions {
        output: options
            .state_output
            .as_deref()
            .or(mode)
            .unwrap_or("full")
            .to_owned(),
        verbose: verbose.map_or_else(
            || flag(opts, "state_verbose", true),
            |text| !matches!(text, "False" | "false" | ""),
        ),
        profile: flag(opts, "state_output_profile", true),
        percentages: flag(opts, "state_output_pct", false),
        diff: flag(opts, "state_output_diff", false),
        tabular: opts.get("state_tabular").map_or(Tabular::No, Tabular::read),
        compress_ids: flag(opts, "state_compress_ids", false),
        exclude: list("state_output_exclude"),
        terse: list("state_output_terse"),
    }
}

fn flag(opts: &Map, name: &str, default: bool) -> bool {
    opts.get(name).map_or(default, Value::is_true)
}

/// A list of results, or text with commas between them.
fn results(value: &Value) -> Vec<String> {
    match value {
        Value::Str(text) => text.split(',').map(str::to_owned).collect(),
        Value::List(items) => {
            let texts = items.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(opts: Map, change: impl FnOnce(&mut OutputOptions), out: Option<&str>) -> String {
        let mut options = OutputOptions::default();
        change(&mut options);
        let mut text = Vec::new();
        let mut screen = Screen::to_writers(&mut text, io::sink());
        let mut display = Display::new(&opts, &options, &screen, None).unwrap();
        let data = Map::from([("web1", true)]).into();
        display.show(&mut screen, &data, out, 0);
        drop(screen);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn the_option_is_stronger_than_the_function() {
        let json = "{\n    \"web1\": true\n}\n";
        assert_eq!(shown(Map::new(), |_| (), None), "web1:\n    True\n");
        assert_eq!(shown(Map::new(), |_| (), Some("json")), json);
        let txt = |options: &mut OutputOptions| options.out = Some("txt".to_owned());
        assert_eq!(shown(Map::new(), txt, Some("json")), "web1: True\n");
        let highstate = |options: &mut OutputOptions| options.out = Some("highstate".to_owned());
        assert_eq!(shown(Map::new(), highstate, Some("json")), json);
        assert_eq!(shown(Map::new(), highstate, None), "web1:\n    True\n");
        let opts = Map::from([("output", "json")]);
        assert_eq!(shown(opts, |_| (), None), json);
    }

    #[test]
    fn a_file_is_emptied_once_or_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        std::fs::write(&path, "before\n").unwrap();
        let show = |append| {
            let to_file = |options: &mut OutputOptions| {
                options.out_file = Some(path.clone());
                options.out_file_append = append;
                options.out = Some("txt".to_owned());
            };
            assert_eq!(shown(Map::new(), to_file, None), "");
            std::fs::read_to_string(&path).unwrap()
        };
        assert_eq!(show(true), "before\nweb1: True\n");
        assert_eq!(show(false), "web1: True\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error() {
        let options = OutputOptions {
            out_file: Some(PathBuf::from("/nonexistent/x")),
            ..OutputOptions::default()
        };
        let screen = Screen::to_writers(io::sink(), io::sink());
        let error = Display::new(&Map::new(), &options, &screen, None)
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "could not write results to /nonexistent/x"
        );
    }
}
