//! The options of the template engine: `jinja_env`, `jinja_sls_env`, and the
//! `#jinja2:` line of a template.

use std::borrow::Cow;

use halite_jinja::{Settings, UndefinedMode};
use halite_proto::{Map, Value};

/// Jinja2's own options; what is undefined is nothing.
pub(crate) fn plain() -> Settings {
    Settings {
        undefined: UndefinedMode::Lenient,
        ..Settings::jinja()
    }
}

/// The options for `text`, and the text without its header.
pub(crate) fn settings<'t>(text: &'t str, is_sls: bool, opts: &Map) -> (Settings, Cow<'t, str>) {
    let mut settings = Settings::salt();
    let flag = |name: &str| opts.get(name).is_some_and(Value::is_true);
    if flag("allow_undefined") {
        settings.undefined = UndefinedMode::Lenient;
    }
    let option = if is_sls { "jinja_sls_env" } else { "jinja_env" };
    if let Some(env) = opts.get(option).and_then(Value::as_map) {
        for (name, value) in env {
            set(&mut settings, name, value, option);
        }
    }
    settings.trim_blocks |= flag("jinja_trim_blocks");
    settings.lstrip_blocks |= flag("jinja_lstrip_blocks");
    match header(text) {
        Some((header, rest)) => {
            for (name, value) in &header {
                set(&mut settings, name, value, "#jinja2:");
            }
            (settings, Cow::Owned(rest))
        }
        None => (settings, Cow::Borrowed(text)),
    }
}

fn set(settings: &mut Settings, name: &Value, value: &Value, origin: &str) {
    let name = name.as_str().unwrap_or_default().to_lowercase();
    let text = || value.as_str().map(str::to_owned);
    let place = match name.as_str() {
        "trim_blocks" => return settings.trim_blocks = value.is_true(),
        "lstrip_blocks" => return settings.lstrip_blocks = value.is_true(),
        "keep_trailing_newline" => return settings.keep_trailing_newline = value.is_true(),
        "line_statement_prefix" => return settings.line_statement_prefix = text(),
        "line_comment_prefix" => return settings.line_comment_prefix = text(),
        "block_start_string" => &mut settings.block_start,
        "block_end_string" => &mut settings.block_end,
        "variable_start_string" => &mut settings.variable_start,
        "variable_end_string" => &mut settings.variable_end,
        "comment_start_string" => &mut settings.comment_start,
        "comment_end_string" => &mut settings.comment_end,
        "newline_sequence" => &mut settings.newline,
        _ => {
            tracing::warn!("{origin}: Jinja2 environment {name} is not recognized");
            return;
        }
    };
    match text() {
        Some(text) if !text.is_empty() => *place = text,
        _ => tracing::warn!("{origin}: {name} needs a text"),
    }
}

/// The options of the `#jinja2:` line - the first one, or the one after `#!` -
/// and the text without it.
fn header(text: &str) -> Option<(Map, String)> {
    const MARK: &str = "#jinja2:";
    let mut start = 0;
    if text.starts_with("#!") && !text.starts_with("#!/") {
        start = text.find('\n')? + 1;
    }
    let rest = text.get(start..)?.strip_prefix(MARK)?;
    let (payload, after) = match rest.find('\n') {
        Some(at) => rest.split_at(at + 1),
        None => (rest, ""),
    };
    if payload.trim().is_empty() {
        return None;
    }
    match halite_proto::json::read(payload.trim()) {
        Ok(Value::Map(map)) => Some((map, format!("{}{after}", &text[..start]))),
        Ok(_) => {
            tracing::warn!(
                "Ignoring '#jinja2:' header that is not a JSON object: {}",
                payload.trim()
            );
            None
        }
        Err(_) => {
            tracing::warn!(
                "Ignoring malformed '#jinja2:' header in template: {}",
                payload.trim()
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_sets_options_and_goes() {
        let text = "#!jinja|yaml\n#jinja2: {\"trim_blocks\": true}\na: 1\n";
        let (settings, rest) = settings(text, true, &Map::new());
        assert!(settings.trim_blocks && !settings.lstrip_blocks);
        assert_eq!(rest, "#!jinja|yaml\na: 1\n");
    }

    #[test]
    fn a_wrong_header_stays_a_comment() {
        for text in [
            "#jinja2: {\n",
            "#jinja2: 1\n",
            "#jinja2:\n",
            "#!x\n\n#jinja2: {}\n",
        ] {
            assert_eq!(settings(text, true, &Map::new()).1, text);
        }
    }

    #[test]
    fn states_and_files_have_options_of_their_own() {
        let env = Map::from([("Line_Statement_Prefix", Value::from("%"))]);
        let opts = Map::from([("jinja_sls_env", env)]);
        let prefix = |is_sls| settings("", is_sls, &opts).0.line_statement_prefix;
        assert_eq!(prefix(true).as_deref(), Some("%"));
        assert_eq!(prefix(false), None);
    }
}
