//! The language of the system: the execution module `locale`.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, check_one_line, os_error};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "locale",
    functions: &[
        Function::new(
            "locale.avail",
            "(locale)",
            avail_,
            "Whether a locale is there.",
        ),
        Function::new(
            "locale.gen_locale",
            "(locale, **kwargs)",
            gen_locale_,
            "Makes a locale.",
        ),
        Function::new(
            "locale.get_locale",
            "()",
            get_locale_,
            "The locale of the system.",
        ),
        Function::new(
            "locale.list_avail",
            "()",
            list_avail_,
            "The locales that are there.",
        ),
        Function::new(
            "locale.set_locale",
            "(locale)",
            set_locale_,
            "Sets the locale of the system.",
        ),
    ],
};

/// The file that holds the system's locale.
fn file(call: &Call<'_>) -> &'static str {
    let grains = call.ctx.grains();
    match grains
        .get("os_family")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "Debian" => "/etc/default/locale",
        "RedHat" if !call.host().path("/etc/locale.conf").exists() => "/etc/sysconfig/i18n",
        _ => "/etc/locale.conf",
    }
}

fn has_localectl(call: &Call<'_>) -> bool {
    call.host().has("localectl") && call.host().path("/run/systemd/system").is_dir()
}

/// `en_US.UTF-8` and `en_US.utf8` are one.
fn normal(locale: &str) -> String {
    let (name, rest) = locale.split_once('.').unwrap_or((locale, ""));
    let (charset, modifier) = rest.split_once('@').unwrap_or((rest, ""));
    let charset = charset
        .split(' ')
        .next()
        .unwrap_or(charset)
        .to_lowercase()
        .replace('-', "");
    format!("{name}.{charset}@{modifier}")
}

pub(crate) fn get(call: &Call<'_>) -> Result<String, CallError> {
    if has_localectl(call) {
        let ran = Program::new(call, &["localectl"]).run()?;
        let found = ran
            .stdout
            .split_whitespace()
            .find_map(|word| word.strip_prefix("LANG="));
        return Ok(found.unwrap_or_default().to_owned());
    }
    let text = call.host().read(file(call));
    let found = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("LANG="));
    Ok(found
        .unwrap_or_default()
        .trim_matches(['"', '\''])
        .to_owned())
}

pub(crate) fn set(call: &Call<'_>, locale: &str) -> Result<bool, CallError> {
    if has_localectl(call) {
        let lang = format!("LANG={locale}");
        return Ok(Program::new(call, &["localectl", "set-locale", &lang])
            .run()?
            .ok());
    }
    let file = file(call);
    if call.host().has("update-locale") && file == "/etc/default/locale" {
        // The program drops what is no locale; the line is written as Salt does.
        Program::new(call, &["update-locale"]).run()?;
        let path = call.host().path(file).display().to_string();
        let line = format!("LANG=\"{locale}\"");
        let args = [path.into(), "^LANG=.*".into(), line.into()];
        let kwargs = Map::from([
            ("flags", Value::from(vec![Value::from("MULTILINE")])),
            ("append_if_not_found", true.into()),
        ]);
        call.salt("file.replace", &args, kwargs)?;
        return Ok(true);
    }
    check_one_line("a locale", locale)?;
    let text = call.host().read_to_change(file)?;
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("LANG="))
        .map(str::to_owned)
        .collect();
    lines.push(format!("LANG=\"{locale}\""));
    let text = format!("{}\n", lines.join("\n"));
    replace_file(&call.host().path(file), text.as_bytes())
        .map_err(|error| os_error(&error, file))?;
    Ok(true)
}

fn list(call: &Call<'_>) -> Result<Vec<String>, CallError> {
    let ran = Program::new(call, &["locale", "-a"]).run()?;
    Ok(ran.stdout.lines().map(str::to_owned).collect())
}

pub(crate) fn avail(call: &Call<'_>, locale: &str) -> Result<bool, CallError> {
    let wanted = normal(locale);
    Ok(list(call)?.iter().any(|known| normal(known) == wanted))
}

pub(crate) fn generate(call: &Call<'_>, locale: &str) -> Result<bool, CallError> {
    let host = call.host();
    let name = locale.split(' ').next().unwrap_or(locale);
    let charset = match locale.split_once(' ') {
        Some((_, charset)) => charset.to_owned(),
        None => {
            let rest = name.split_once('.').map_or("", |(_, rest)| rest);
            rest.split('@').next().unwrap_or_default().to_owned()
        }
    };
    if host.has("locale-gen") {
        let supported = host.read("/usr/share/i18n/SUPPORTED");
        let line = format!("{name} {charset}");
        let is_known = supported.is_empty() || supported.lines().any(|known| known.trim() == line);
        if !is_known {
            tracing::error!(locale, "there is no such locale");
            return Ok(false);
        }
        check_one_line("a locale", &line)?;
        let text = host.read_to_change("/etc/locale.gen")?;
        if !text.lines().any(|known| known.trim() == line) {
            let off = format!("# {line}");
            let mut found = false;
            let mut lines: Vec<String> = text
                .lines()
                .map(|known| {
                    if known.trim() == off {
                        found = true;
                        line.clone()
                    } else {
                        known.to_owned()
                    }
                })
                .collect();
            if !found {
                lines.push(line);
            }
            let text = format!("{}\n", lines.join("\n"));
            replace_file(&host.path("/etc/locale.gen"), text.as_bytes())
                .map_err(|error| os_error(&error, "/etc/locale.gen"))?;
        }
        return Ok(Program::new(call, &["locale-gen"]).run()?.ok());
    }
    if host.has("localedef") {
        let language = name.split('.').next().unwrap_or(name);
        let words = ["localedef", "--force", "-i", language, "-f", &charset, name];
        return Ok(Program::new(call, &words).run()?.ok());
    }
    Err(CallError::command(
        "Command \"locale-gen\" or \"localedef\" was not found on this system.",
    ))
}

fn avail_(call: &Call<'_>) -> CallResult {
    Ok(avail(call, &call.text("locale"))?.into())
}

fn get_locale_(call: &Call<'_>) -> CallResult {
    Ok(get(call)?.into())
}

fn set_locale_(call: &Call<'_>) -> CallResult {
    Ok(set(call, &call.text("locale"))?.into())
}

fn gen_locale_(call: &Call<'_>) -> CallResult {
    Ok(generate(call, &call.text("locale"))?.into())
}

fn list_avail_(call: &Call<'_>) -> CallResult {
    Ok(Value::List(
        list(call)?.into_iter().map(Value::from).collect(),
    ))
}
