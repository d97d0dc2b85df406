//! One state in one line.

use halite_proto::{Map, Value};

use super::fields::{Names, warning_lines};
use super::tabular;
use crate::{Color, Palette, RenderOptions, Tabular, Unfit, python};

pub(super) fn terse(
    state: &Map,
    names: &Names,
    color: Color,
    options: &RenderOptions,
) -> Result<String, Unfit> {
    let palette = Palette::new(options.color);
    let result = state.get("result").unwrap_or(&Value::Nil);
    let word = if *result == Value::Bool(false) {
        "Failed"
    } else if result.is_nil() {
        "Differs"
    } else if state.get("changes").is_some_and(Value::is_true) {
        "Changed"
    } else {
        "Clean"
    };
    let Names {
        module,
        name,
        function,
        ..
    } = names;
    if let Tabular::Format(format) = &options.highstate.tabular {
        let texts = [
            palette.start(color),
            *name,
            *module,
            *function,
            word,
            palette.end(),
        ];
        let mut fields: Vec<Value> = texts.into_iter().map(Value::from).collect();
        fields.push(state.clone().into());
        return tabular::line(format, &fields);
    }
    let tabular = options.highstate.tabular == Tabular::Columns;
    let mut out = String::new();
    if state.contains_key("warnings") {
        out.push_str(palette.start(Color::LightRed));
        out.push_str("Warnings:\n");
        out.push_str(&warning_lines(state)?);
        out.push_str(palette.end());
        if tabular {
            out.push('\n');
        }
    }
    let times = match state.get("start_time") {
        Some(start) if options.highstate.profile => {
            let duration = state.get("duration").ok_or(Unfit)?;
            Some((python::str(start), python::str(duration)))
        }
        _ => None,
    };
    let start = palette.start(color);
    if tabular {
        out.push_str(start);
        if let Some((start, duration)) = times {
            out.push_str(&format!("{start} [{duration:>7} ms] "));
        }
        out.push_str(&format!(
            "{module:>10}.{function:<10} {word:7}   Name: {name}"
        ));
    } else {
        out.push_str(&format!(
            " {start} Name: {name} - Function: {module}.{function} - Result: {word}"
        ));
        if let Some((start, duration)) = times {
            out.push_str(&format!(" - Started: {start} - Duration: {duration} ms"));
        }
    }
    out.push_str(palette.end());
    Ok(out)
}
