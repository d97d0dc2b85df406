//! The options of `pip install` that arguments stand for.

use halite_call::{CallError, python};
use halite_proto::{Map, Value};

use super::run::comma_list;

/// How an argument becomes words.
enum Form {
    /// The option alone, if the argument is true.
    Flag,
    /// The option and the argument.
    Text,
    /// As `Text`; the items of a list are joined by commas.
    Joined,
    /// As `Text`, a whole number.
    Seconds,
    /// As `Text`, of a scheme that pip knows.
    Url,
    /// As `Text`, a letter of what pip does with what is there.
    Action,
    /// The option before each item.
    Each,
}

/// Arguments and their options, in the order in which pip gets them.
const OPTIONS: &[(&str, &str, Form)] = &[
    ("no_binary", "--no-binary", Form::Joined),
    ("log", "--log", Form::Text),
    ("proxy", "--proxy", Form::Text),
    ("timeout", "--timeout", Form::Seconds),
    ("find_links", "--find-links", Form::Each),
    ("index_url", "--index-url", Form::Url),
    ("extra_index_url", "--extra-index-url", Form::Url),
    ("no_index", "--no-index", Form::Flag),
    (
        "disable_version_check",
        "--disable-pip-version-check",
        Form::Flag,
    ),
    ("build", "--build", Form::Text),
    ("target", "--target", Form::Text),
    ("download", "--download", Form::Text),
    ("download_cache", "--cache-dir", Form::Text),
    ("cache_dir", "--cache-dir", Form::Text),
    ("source", "--source", Form::Text),
    ("upgrade", "--upgrade", Form::Flag),
    ("force_reinstall", "--force-reinstall", Form::Flag),
    ("ignore_installed", "--ignore-installed", Form::Flag),
    ("exists_action", "--exists-action", Form::Action),
    ("no_deps", "--no-deps", Form::Flag),
    ("no_install", "--no-install", Form::Flag),
    ("no_download", "--no-download", Form::Flag),
    ("no_cache_dir", "--no-cache-dir", Form::Flag),
    ("pre_releases", "--pre", Form::Flag),
    ("cert", "--cert", Form::Text),
    ("global_options", "--global-option", Form::Each),
    ("install_options", "--install-option", Form::Each),
];

const SCHEMES: [&str; 4] = ["http://", "https://", "file://", "ftp://"];

/// The words of all arguments that are given.
pub(super) fn install_options(args: &Map) -> Result<Vec<String>, CallError> {
    let given = |name: &str| args.get(name).filter(|value| value.is_true());
    let mut words = Vec::new();
    for (name, option, form) in OPTIONS {
        if *name == "index_url"
            && given("no_index").is_some()
            && (given("index_url").is_some() || given("extra_index_url").is_some())
        {
            return Err(CallError::command(
                "'no_index' and ('index_url' or 'extra_index_url') are mutually exclusive.",
            ));
        }
        // The older name of the same option wins.
        if *name == "cache_dir" && given("download_cache").is_some() {
            continue;
        }
        if matches!(form, Form::Each) {
            for item in comma_list(args.get(name)) {
                words.extend([(*option).to_owned(), item]);
            }
            continue;
        }
        let Some(value) = given(name) else {
            continue;
        };
        let text = match form {
            Form::Flag | Form::Each => {
                words.push((*option).to_owned());
                continue;
            }
            Form::Text => python::str(value),
            Form::Joined => joined(value),
            Form::Seconds => seconds(value)?,
            Form::Url => url(value)?,
            Form::Action => action(value)?,
        };
        words.extend([(*option).to_owned(), text]);
    }
    Ok(words)
}

fn joined(value: &Value) -> String {
    match value {
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(python::str).collect();
            items.join(",")
        }
        other => python::str(other),
    }
}

fn seconds(value: &Value) -> Result<String, CallError> {
    let text = python::str(value);
    if matches!(value, Value::Float(_)) || python::int(value).is_err() {
        return Err(CallError::exception(
            "ValueError",
            format!("'{text}' is not a valid timeout, must be an integer"),
        ));
    }
    Ok(text)
}

fn url(value: &Value) -> Result<String, CallError> {
    let url = python::str(value);
    if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Err(CallError::command(format!("'{url}' is not a valid URL")));
    }
    Ok(url)
}

fn action(value: &Value) -> Result<String, CallError> {
    let action = python::str(value);
    if !["s", "i", "w", "b"].contains(&action.to_lowercase().as_str()) {
        return Err(CallError::command(format!(
            "The exists_action pip option only supports the values s, i, w, and b. '{action}' is not valid."
        )));
    }
    Ok(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: Map) -> Result<String, String> {
        install_options(&args)
            .map(|words| words.join(" "))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_become_options_in_their_order() {
        let args = Map::from([
            ("cert", Value::from("/c")),
            ("upgrade", true.into()),
            ("no_deps", false.into()),
            ("timeout", 5.into()),
            (
                "no_binary",
                vec!["a", "b"]
                    .into_iter()
                    .map(Value::from)
                    .collect::<Vec<_>>()
                    .into(),
            ),
            ("find_links", "x,y".into()),
            ("cache_dir", "/new".into()),
            ("download_cache", "/old".into()),
        ]);
        let expected = "--no-binary a,b --timeout 5 --find-links x --find-links y \
            --cache-dir /old --upgrade --cert /c";
        assert_eq!(words(args).as_deref(), Ok(expected));
    }

    #[test]
    fn what_pip_would_not_take_is_refused() {
        for (name, value) in [
            ("timeout", Value::from("soon")),
            ("index_url", "gopher://a".into()),
            ("exists_action", "x".into()),
        ] {
            assert!(words(Map::from([(name, value)])).is_err(), "{name}");
        }
        let both = Map::from([
            ("no_index", Value::from(true)),
            ("index_url", "http://a".into()),
        ]);
        assert!(words(both).unwrap_err().contains("mutually exclusive"));
    }
}
