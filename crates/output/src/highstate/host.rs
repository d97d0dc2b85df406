//! The states of one minion.

use halite_proto::{Map, Value};

use super::counts::Counts;
use super::fields::{Names, comment, warning_lines};
use super::{CHANGES_INDENT, compress, hosts, line};
use crate::{Color, Outputter, Palette, RenderOptions, Unfit, nested, pprint, python, textwrap};

/// States that run other states: their changes are results themselves.
const NESTING: [&str; 3] = ["state.orch", "state.orchestrate", "state.sls"];

/// A minion's text and whether something changed there.
pub(super) struct Host {
    pub(super) text: String,
    pub(super) changed: bool,
}

pub(super) fn render(
    id: &str,
    data: &Value,
    options: &RenderOptions,
    depth: usize,
) -> Result<Host, Unfit> {
    let mut screen = Screen {
        options,
        palette: Palette::new(options.color),
        depth,
        color: Color::Green,
        counts: Counts::default(),
        lines: Vec::new(),
    };
    match data {
        Value::Bool(_) | Value::Int(_) => screen.result_lines(&[python::str(data)]),
        Value::Str(text) => {
            let lines: Vec<_> = python::lines(text).map(str::to_owned).collect();
            screen.result_lines(&lines);
        }
        Value::List(errors) => screen.compile_errors(errors),
        Value::Map(states) => screen.states(id, states)?,
        _ => {}
    }
    let id = if options.strip_colors {
        nested::strip_escapes(id)
    } else {
        id.to_owned()
    };
    screen
        .lines
        .insert(0, screen.painted(screen.color, &format!("{id}:")));
    Ok(Host {
        text: screen.lines.join("\n"),
        changed: screen.counts.changed > 0,
    })
}

struct Screen<'a> {
    options: &'a RenderOptions,
    palette: Palette,
    depth: usize,
    /// The colour of the minion's id.
    color: Color,
    counts: Counts,
    lines: Vec<String>,
}

impl Screen<'_> {
    fn painted(&self, color: Color, text: &str) -> String {
        format!("{}{text}{}", self.palette.start(color), self.palette.end())
    }

    /// What is not made of states comes from a function that was run: always a
    /// change.
    fn result_lines(&mut self, lines: &[String]) {
        self.counts.changed = 1;
        for line in lines {
            self.lines
                .push(self.painted(self.color, &format!("    {line}")));
        }
        self.color = Color::Cyan;
    }

    fn compile_errors(&mut self, errors: &[Value]) {
        self.color = Color::LightRed;
        let headline = self.painted(self.color, "Data failed to compile:");
        self.lines.push(format!("    {headline}"));
        for error in errors {
            let mut text = python::str(error);
            if self.options.strip_colors && error.as_str().is_some() {
                text = nested::strip_escapes(&text);
            }
            self.lines
                .push(self.painted(self.color, &format!("----------\n    {text}")));
        }
    }

    fn states(&mut self, id: &str, states: &Map) -> Result<(), Unfit> {
        let mut ordered = Vec::new();
        let first = Value::from(0);
        for (tag, state) in states {
            let Some(fields) = state.as_map() else {
                continue;
            };
            let number = fields.get("__run_num__");
            if number.is_none() && !fields.is_empty() && tag.as_str() != Some("changes") {
                self.lines
                    .insert(0, pprint::render(state, crate::Indent::Unset));
                self.lines.insert(0, NO_ORDER.to_owned());
            }
            if fields.contains_key("result") {
                ordered.push((number.unwrap_or(&first), tag, fields));
            }
        }
        if !python::sort_by_key(&mut ordered, |(number, ..)| number) {
            return Err(Unfit);
        }
        for (_, tag, state) in ordered {
            self.state(tag.as_str().ok_or(Unfit)?, state)?;
        }
        let summary = self.counts.lines(id, self.options);
        self.lines.extend(summary);
        Ok(())
    }

    fn state(&mut self, tag: &str, state: &Map) -> Result<(), Unfit> {
        let result = state.get("result").ok_or(Unfit)?;
        let names = Names::parse(tag)?;
        let merged = self.merged_count(&names);
        self.counts.add_result(result, merged);
        self.add_duration(state)?;
        let changes = self.changes(state, merged)?;

        let quiet = self.options.highstate.diff || !self.options.highstate.verbose;
        if quiet && result.is_true() && !changes.changed {
            return Ok(());
        }
        let mut color = if changes.changed {
            Color::Cyan
        } else {
            Color::Green
        };
        if *result == Value::Bool(false) {
            color = Color::Red;
            self.color = color;
        } else if result.is_nil() {
            color = Color::LightYellow;
            self.color = color;
        }
        let mode = self.options.highstate.output.to_lowercase();
        let mut names = names;
        if mode.ends_with("_id") {
            names.name = names.id;
        }
        match self.shape(&mode, result, changes.changed) {
            Shape::Hidden => {}
            Shape::Terse => {
                names.function = names.last;
                let text = line::terse(state, &names, color, self.options)?;
                self.lines.push(text);
            }
            Shape::Full => self.full(state, &names, color, &changes.text)?,
        }
        Ok(())
    }

    fn shape(&self, mode: &str, result: &Value, changed: bool) -> Shape {
        let failed = *result == Value::Bool(false);
        if mode.starts_with("filter") {
            let listed = |list: &[String]| list.contains(&python::str(result));
            return if listed(&self.options.highstate.terse) {
                Shape::Terse
            } else if listed(&self.options.highstate.exclude) {
                Shape::Hidden
            } else {
                Shape::Full
            };
        }
        let terse = mode.starts_with("terse")
            || (mode.starts_with("mixed") && !failed)
            || (mode.starts_with("changes") && result.is_true() && !changed);
        if terse { Shape::Terse } else { Shape::Full }
    }

    fn full(
        &mut self,
        state: &Map,
        names: &Names,
        color: Color,
        changes: &str,
    ) -> Result<(), Unfit> {
        let mut fields = vec![("ID", names.id.to_owned())];
        fields.push(("Function", format!("{}.{}", names.module, names.function)));
        if names.id != names.name {
            fields.push(("Name", names.name.to_owned()));
        }
        fields.push((
            "Result",
            state.get("result").map_or_else(String::new, python::str),
        ));
        fields.push(("Comment", comment(state)?));
        if self.options.highstate.profile
            && let Some(start) = state.get("start_time")
        {
            fields.push(("Started", python::str(start)));
            let duration = state.get("duration").map_or_else(String::new, python::str);
            let unit = if duration.is_empty() { "" } else { " ms" };
            fields.push(("Duration", format!("{duration}{unit}")));
        }
        self.lines.push(self.painted(color, "----------"));
        for (label, text) in fields {
            let field = self.painted(color, &format!("{label:>8}: {text}"));
            self.lines.push(format!("    {field}"));
        }
        self.lines
            .push(self.painted(color, &format!("     Changes:   {changes}")));
        if state.contains_key("warnings") {
            self.counts.add_warning();
            let text = textwrap::fill(&warning_lines(state)?, CHANGES_INDENT);
            let text = format!(" Warnings: {}", text.trim_start_matches(python::is_space));
            self.lines
                .push(format!("   {}", self.painted(Color::LightRed, &text)));
        }
        Ok(())
    }

    fn changes(&mut self, state: &Map, merged: usize) -> Result<Changes, Unfit> {
        let changes = state.get("changes").ok_or(Unfit)?;
        let name = state.get("name").and_then(Value::as_str);
        if name.is_some_and(|name| NESTING.contains(&name)) {
            let inner = hosts(changes, self.options, self.depth + 1)?;
            let pad = " ".repeat(CHANGES_INDENT * self.depth);
            self.counts.changed += 1;
            return Ok(Changes {
                changed: true,
                text: format!("{pad}\n{pad}{}", inner.replace('\n', &format!("\n{pad}"))),
            });
        }
        let shown = self.shown_changes(changes)?;
        if shown.changed {
            let all = changes.get(compress::ALL_CHANGES).and_then(Value::as_map);
            self.counts.changed += match all {
                Some(all) if merged > 1 => all.len().max(1),
                _ => 1,
            };
        }
        Ok(shown)
    }

    fn shown_changes(&self, changes: &Value) -> Result<Changes, Unfit> {
        if !changes.is_true() {
            return Ok(Changes {
                changed: false,
                text: String::new(),
            });
        }
        let Some(map) = changes.as_map() else {
            return Ok(Changes {
                changed: true,
                text: format!("Invalid Changes data: {}", python::str(changes)),
            });
        };
        let is_highstate = map.get("out").and_then(Value::as_str) == Some("highstate");
        if let Some(inner) = map.get("ret").filter(|ret| is_highstate && !ret.is_nil()) {
            return self.inner_hosts(inner.as_map().ok_or(Unfit)?);
        }
        let mut options = self.options.clone();
        options.retcode = 0;
        options.nested_indent = CHANGES_INDENT;
        Ok(Changes {
            changed: true,
            text: format!(
                "\n{}",
                crate::render_as(Outputter::Nested, changes, &options)
            ),
        })
    }

    fn inner_hosts(&self, inner: &Map) -> Result<Changes, Unfit> {
        let mut shown = Changes {
            changed: false,
            text: String::new(),
        };
        for (id, states) in inner {
            let host = render(id.as_str().ok_or(Unfit)?, states, self.options, 1)?;
            for line in python::lines(&host.text) {
                shown.text.push('\n');
                shown.text.push_str(&" ".repeat(CHANGES_INDENT));
                shown.text.push_str(line);
            }
            if host.text.is_empty() {
                shown.text.push('\n');
            }
            shown.changed |= host.changed;
        }
        Ok(shown)
    }

    /// How many states an entry stands for.
    fn merged_count(&self, names: &Names) -> usize {
        if !self.options.highstate.compress_ids || !names.name.starts_with(compress::COMPRESSED) {
            return 1;
        }
        let count = names
            .id
            .strip_suffix(')')
            .and_then(|id| id.rsplit_once('('));
        count.and_then(|(_, count)| count.parse().ok()).unwrap_or(1)
    }

    fn add_duration(&mut self, state: &Map) -> Result<(), Unfit> {
        let milliseconds = match state.get("duration") {
            None => 0.0,
            Some(Value::Bool(bool)) => f64::from(u8::from(*bool)),
            Some(Value::Str(text)) => {
                let number = text.split(" ms").next().unwrap_or(text);
                python::trim(number).parse().unwrap_or(0.0)
            }
            Some(other) => other.as_f64().ok_or(Unfit)?,
        };
        if state.contains_key("__parallel__") {
            self.counts.parallel_ms = self.counts.parallel_ms.max(milliseconds);
        } else {
            self.counts.serial_ms += milliseconds;
        }
        Ok(())
    }
}

/// How much of a state is shown.
enum Shape {
    Hidden,
    Terse,
    Full,
}

struct Changes {
    changed: bool,
    text: String,
}

/// Shown above the states where their order is not known.
const NO_ORDER: &str = "The State execution failed to record the order in which all states were \
executed. The state return missing data is:";
