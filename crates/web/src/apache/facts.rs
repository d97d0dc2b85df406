//! The server's data about itself, and signals to it.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult, python};
use halite_proto::{Map, Value};

const SIGNALS: [&str; 5] = ["start", "stop", "restart", "graceful", "graceful-stop"];

/// Where the server is asked for its status, and for how many seconds at most.
const STATUS_URL: &str = "http://localhost/server-status";
const STATUS_SECONDS_MAX: i64 = 5;

/// The program that steers the server.
fn program(call: &Call<'_>) -> &'static str {
    let grains = call.ctx.grains();
    match grains.get("os_family").and_then(Value::as_str) {
        Some("Debian" | "Suse") => "apache2ctl",
        _ => "apachectl",
    }
}

fn ctl(call: &Call<'_>, words: &[&str]) -> Result<Ran, CallError> {
    let program = program(call);
    if !call.host().has(program) {
        return Err(CallError::NotFound(format!(
            "The '{program}' binary was not found in $PATH."
        )));
    }
    let all: Vec<&str> = [program].into_iter().chain(words.iter().copied()).collect();
    Program::new(call, &all).run()
}

pub(super) fn version(call: &Call<'_>) -> CallResult {
    let said = ctl(call, &["-v"])?.stdout;
    let first = said.lines().next().and_then(|line| line.split_once(": "));
    Ok(first.map_or("", |(_, version)| version).into())
}

pub(super) fn fullversion(call: &Call<'_>) -> CallResult {
    let said = ctl(call, &["-V"])?.stdout;
    let (mut all, mut compiled) = (Map::new(), Vec::new());
    for line in said.lines().map(str::trim) {
        if let Some(option) = line.strip_prefix("-D ") {
            compiled.push(Value::from(option));
        } else if let Some((key, value)) = line.split_once(": ") {
            all.insert(key.trim().to_lowercase().replace(' ', "_"), value.trim());
        }
    }
    all.insert("compiled_with", compiled);
    Ok(all.into())
}

pub(super) fn modules(call: &Call<'_>) -> CallResult {
    let said = ctl(call, &["-M"])?.stdout;
    let kind = |mark: &str| -> Value {
        let lines = said.lines().map(str::trim);
        let names = lines.filter_map(|line| line.strip_suffix(mark));
        names
            .map(|name| name.trim().into())
            .collect::<Vec<Value>>()
            .into()
    };
    Ok(Map::from([("static", kind("(static)")), ("shared", kind("(shared)"))]).into())
}

pub(super) fn servermods(call: &Call<'_>) -> CallResult {
    let said = ctl(call, &["-l"])?.stdout;
    let names = said
        .lines()
        .map(str::trim)
        .filter(|line| line.ends_with(".c"));
    Ok(names.map(Value::from).collect::<Vec<_>>().into())
}

pub(super) fn directives(call: &Call<'_>) -> CallResult {
    let said = ctl(call, &["-L"])?.stdout;
    let mut all = Map::new();
    let mut name = None;
    for line in said.lines() {
        match (line.starts_with(char::is_whitespace), name) {
            (false, _) => name = Some(line.trim()),
            (true, Some(directive)) => {
                all.insert(directive, line.trim());
                name = None;
            }
            (true, None) => {}
        }
    }
    Ok(all.into())
}

pub(super) fn vhosts(call: &Call<'_>) -> CallResult {
    Ok(hosts(&ctl(call, &["-S"])?.stdout).into())
}

/// The hosts that share addresses by names.
fn hosts(said: &str) -> Map {
    let mut all = Map::new();
    let mut address: Option<String> = None;
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = |text: &str| text.trim_matches(['(', ')']).to_owned();
        let (name, about) = match words.as_slice() {
            [shared, "is", "a", "NameVirtualHost"] => {
                all.insert(*shared, Map::new());
                address = Some((*shared).to_owned());
                continue;
            }
            ["default", "server", host, conf] => (
                "default",
                Map::from([("vhost", (*host).to_owned()), ("conf", place(conf))]),
            ),
            ["port", port, "namevhost", host, conf] => (
                *host,
                Map::from([
                    ("vhost", (*host).to_owned()),
                    ("conf", place(conf)),
                    ("port", (*port).to_owned()),
                ]),
            ),
            _ => continue,
        };
        if let Some(Value::Map(of)) = address.as_ref().and_then(|address| all.get_mut(address)) {
            of.insert(name, about);
        }
    }
    all
}

pub(super) fn signal(call: &Call<'_>) -> CallResult {
    let signal = call.text("signal");
    if !SIGNALS.contains(&signal.as_str()) {
        return Ok(Value::Nil);
    }
    let ran = ctl(call, &["-k", &signal])?;
    let said = [ran.stdout.trim(), ran.stderr.trim()].join("\n");
    let said = said.trim();
    Ok(match (ran.ok(), said.is_empty()) {
        (true, true) => {
            let line = format!("{} -k {signal}", program(call));
            format!("Command: \"{line}\" completed successfully!").into()
        }
        (false, true) => format!("signal {signal}: return code {}", ran.code).into(),
        (_, false) => said.into(),
    })
}

pub(super) fn server_status(call: &Call<'_>) -> CallResult {
    let profile = call.text("profile");
    let option = |name: &str| -> Result<Option<Value>, CallError> {
        let key = format!("apache.server-status:{profile}:{name}");
        let value = call.salt("config.get", &[key.into(), Value::Nil], Map::new())?;
        Ok(Some(value).filter(Value::is_true))
    };
    let url = option("url")?.map_or_else(|| STATUS_URL.to_owned(), |url| python::str(&url));
    let mut query = Map::from([
        ("url", Value::from(format!("{url}?auto"))),
        ("text", true.into()),
        (
            "timeout",
            option("timeout")?.unwrap_or_else(|| STATUS_SECONDS_MAX.into()),
        ),
    ]);
    if let (Some(user), Some(password)) = (option("user")?, option("pass")?) {
        query.insert("username", user);
        query.insert("password", password);
    }
    let answer = call.salt("http.query", &[], query)?;
    Ok(match answer.get("text").and_then(Value::as_str) {
        Some(text) => status(text).into(),
        None => "error".into(),
    })
}

/// The pairs of a status page, with the letters of its board counted.
fn status(text: &str) -> Map {
    let pairs = text.lines().filter_map(|line| line.split_once(": "));
    pairs
        .map(|(key, value)| {
            let value = match key {
                "Scoreboard" => board(value).into(),
                _ => python::int(&value.into())
                    .map(Value::from)
                    .or_else(|_| python::float(&value.into()).map(Value::from))
                    .unwrap_or_else(|_| value.into()),
            };
            (key, value)
        })
        .collect()
}

fn board(letters: &str) -> Map {
    let known = "_SRWKDCLGI.".chars();
    known
        .map(|letter| {
            let count = letters.chars().filter(|other| *other == letter).count();
            (letter.to_string(), i64::try_from(count).unwrap_or(i64::MAX))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_numbers_and_a_board() {
        let all =
            status("Total Accesses: 17\nCPULoad: .5\nServerVersion: Apache/2\nScoreboard: _W_.\n");
        assert_eq!(all.get("Total Accesses"), Some(&17.into()));
        assert_eq!(all.get("CPULoad"), Some(&Value::Float(0.5)));
        assert_eq!(all.get("ServerVersion"), Some(&"Apache/2".into()));
        let board = all.get("Scoreboard").unwrap();
        assert_eq!(board.get("_"), Some(&2.into()));
        assert_eq!(board.get("R"), Some(&0.into()));
    }

    #[test]
    fn hosts_of_no_address_are_left_out() {
        assert!(hosts("port 80 namevhost a (x:1)\n").is_empty());
    }
}
