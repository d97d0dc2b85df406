//! The machine as a whole: shutdown, clock and name: the execution module `system`.
//!
//! Invariant: the machine is stopped, and its clock set, only by programs that
//! `halite_call::host` runs, so that nothing here touches a machine under an
//! artificial root.

use halite_call::host::{Program, replace_file};
use halite_call::{Call, CallError, CallResult, Function, Module, check_one_line, python};
use halite_proto::{Map, Value};
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{Offset, TimeZone};

pub(crate) const MODULE: Module = Module {
    name: "system",
    functions: &[
        Function::new(
            "system.get_computer_desc",
            "()",
            get_computer_desc,
            "The pretty name of this machine.",
        ),
        Function::new(
            "system.get_computer_name",
            "()",
            |call| call.salt("network.get_hostname", &[], Map::new()),
            "The name of this machine.",
        ),
        Function::new(
            "system.get_system_date",
            "(utc_offset=None)",
            |call| shown(call, "%a %m/%d/%Y"),
            "The date, here or at an offset like +0100.",
        ),
        Function::new(
            "system.get_system_date_time",
            "(utc_offset=None)",
            |call| shown(call, "%Y-%m-%d %H:%M:%S"),
            "Date and time, here or at an offset like +0100.",
        ),
        Function::new(
            "system.get_system_time",
            "(utc_offset=None)",
            |call| shown(call, "%I:%M:%S %p"),
            "The time, here or at an offset like +0100.",
        ),
        Function::new(
            "system.halt",
            "()",
            |call| run(call, &["halt"]),
            "Halts the machine.",
        ),
        Function::new(
            "system.has_settable_hwclock",
            "()",
            |call| Ok(has_settable_hwclock(call)?.into()),
            "Whether the machine has a hardware clock that can be set.",
        ),
        Function::new(
            "system.init",
            "(runlevel)",
            |call| run(call, &["init", &word(call, "runlevel")?]),
            "Brings the machine to another run level.",
        ),
        Function::new(
            "system.poweroff",
            "()",
            |call| run(call, &["poweroff"]),
            "Turns the machine off.",
        ),
        Function::new(
            "system.reboot",
            "(at_time=None)",
            |call| run(call, &["shutdown", "-r", &at_time(call)?]),
            "Restarts the machine, at once or in so many minutes.",
        ),
        Function::new(
            "system.set_computer_desc",
            "(desc)",
            set_computer_desc,
            "Sets the pretty name of this machine.",
        ),
        Function::new(
            "system.set_computer_name",
            "(hostname)",
            |call| {
                let args = [call.arg("hostname").clone()];
                call.salt("network.mod_hostname", &args, Map::new())
            },
            "Gives the machine another name.",
        ),
        Function::new(
            "system.set_system_date",
            "(newdate, utc_offset=None)",
            set_system_date,
            "Sets the date: YYYY-MM-DD, MM-DD-YYYY, MM-DD-YY, or with slashes.",
        ),
        Function::new(
            "system.set_system_date_time",
            "(years=None, months=None, days=None, hours=None, minutes=None, seconds=None, utc_offset=None)",
            set_system_date_time,
            "Sets date and time; what is not given stays.",
        ),
        Function::new(
            "system.set_system_time",
            "(newtime, utc_offset=None)",
            set_system_time,
            "Sets the time: HH:MM:SS or HH:MM, with AM and PM too.",
        ),
        Function::new(
            "system.shutdown",
            "(at_time=None)",
            |call| run(call, &["shutdown", "-h", &at_time(call)?]),
            "Turns the machine off, at once or in so many minutes.",
        ),
    ],
};

/// An argument as a word that no program takes for an option.
fn word(call: &Call<'_>, name: &str) -> Result<String, CallError> {
    let word = call.text(name);
    if word.is_empty() || word.starts_with('-') {
        return Err(CallError::invocation(format!("not a {name}: {word:?}")));
    }
    Ok(word)
}

fn at_time(call: &Call<'_>) -> Result<String, CallError> {
    match call.flag("at_time") {
        true => word(call, "at_time"),
        false => Ok("now".to_owned()),
    }
}

fn run(call: &Call<'_>, words: &[&str]) -> CallResult {
    let ran = Program::new(call, words).run()?;
    let said = [ran.stdout.as_str(), ran.stderr.as_str()];
    let said: Vec<&str> = said.into_iter().filter(|text| !text.is_empty()).collect();
    Ok(said.join("\n").into())
}

/// Minutes that a text like `+0100` is ahead of UTC.
fn offset(text: &str) -> Result<i32, CallError> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let part = |from: usize| -> Option<i32> { digits.get(from..from + 2)?.parse().ok() };
    let is_digits = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match (part(0), part(2)) {
        (Some(hours), Some(minutes)) if is_digits => Ok(sign * (hours * 60 + minutes)),
        _ => Err(CallError::invocation("Invalid UTC offset")),
    }
}

/// What a clock shows now, here or at an offset.
fn now(call: &Call<'_>) -> Result<DateTime, CallError> {
    let now = jiff::Timestamp::now();
    if call.arg("utc_offset").is_nil() {
        return Ok(now.to_zoned(TimeZone::system()).datetime());
    }
    let minutes = offset(&call.text("utc_offset"))?;
    let offset = Offset::from_seconds(minutes * 60)
        .map_err(|_| CallError::invocation("Invalid UTC offset"))?;
    Ok(offset.to_datetime(now))
}

fn shown(call: &Call<'_>, form: &str) -> CallResult {
    Ok(now(call)?.strftime(form).to_string().into())
}

fn has_settable_hwclock(call: &Call<'_>) -> Result<bool, CallError> {
    if !call.host().has("hwclock") {
        return Ok(false);
    }
    let tried = Program::new(call, &["hwclock", "--test", "--systohc"]).may_fail();
    Ok(tried.run()?.ok())
}

/// Sets the clock of the system, and that of the hardware if there is one.
fn set(call: &Call<'_>, mut moment: DateTime) -> CallResult {
    let mut words = vec!["date"];
    if !call.arg("utc_offset").is_nil() {
        let minutes = offset(&call.text("utc_offset"))?;
        let span = jiff::SignedDuration::from_mins(minutes.into());
        moment = moment
            .checked_sub(span)
            .map_err(|error| CallError::invocation(error.to_string()))?;
        words.push("-u");
    }
    let text = moment.strftime("%m%d%H%M%Y.%S").to_string();
    let ran = Program::new(call, &words).arg(text).run()?;
    if !ran.ok() {
        // Some programs know no seconds.
        let text = moment.strftime("%m%d%H%M%Y").to_string();
        if !Program::new(call, &words).arg(text).run()?.ok() {
            return Err(CallError::command(format!("date failed: {}", ran.stderr)));
        }
    }
    if has_settable_hwclock(call)? {
        let ran = Program::new(call, &["hwclock", "--systohc"]).run()?;
        if !ran.ok() {
            tracing::warn!(
                "hwclock failed to set hardware clock from software clock: {}",
                ran.stderr
            );
        }
    }
    Ok(true.into())
}

/// A text that one of several forms fits.
fn parsed(text: &str, forms: &[&str]) -> Option<BrokenDownTime> {
    forms
        .iter()
        .find_map(|form| BrokenDownTime::parse(form, text).ok())
}

fn set_system_time(call: &Call<'_>) -> CallResult {
    let forms = ["%I:%M:%S %p", "%I:%M %p", "%H:%M:%S", "%H:%M"];
    let time: Option<Time> =
        parsed(&call.text("newtime"), &forms).and_then(|broken| broken.to_time().ok());
    match time {
        Some(time) => set(call, now(call)?.date().to_datetime(time)),
        None => Ok(false.into()),
    }
}

fn set_system_date(call: &Call<'_>) -> CallResult {
    let forms = [
        "%Y-%m-%d", "%m-%d-%Y", "%m-%d-%y", "%m/%d/%Y", "%m/%d/%y", "%Y/%m/%d",
    ];
    let date: Option<Date> =
        parsed(&call.text("newdate"), &forms).and_then(|broken| broken.to_date().ok());
    match date {
        Some(date) => set(call, date.to_datetime(now(call)?.time())),
        None => Err(CallError::invocation("Invalid date format")),
    }
}

fn set_system_date_time(call: &Call<'_>) -> CallResult {
    let now = now(call)?;
    let given = |name: &str, now: i16| -> Result<i16, CallError> {
        match call.arg(name) {
            Value::Nil => Ok(now),
            value => i16::try_from(python::int(value)?)
                .map_err(|_| CallError::invocation(format!("{name} is out of range"))),
        }
    };
    let small = |name: &str, now: i8| -> Result<i8, CallError> {
        i8::try_from(given(name, now.into())?)
            .map_err(|_| CallError::invocation(format!("{name} is out of range")))
    };
    let moment = DateTime::new(
        given("years", now.year())?,
        small("months", now.month())?,
        small("days", now.day())?,
        small("hours", now.hour())?,
        small("minutes", now.minute())?,
        small("seconds", now.second())?,
        0,
    );
    set(
        call,
        moment.map_err(|error| CallError::invocation(error.to_string()))?,
    )
}

const MACHINE_INFO: &str = "/etc/machine-info";

/// What `PRETTY_HOSTNAME=` says on a line.
fn pretty(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("PRETTY_HOSTNAME=")
}

fn get_computer_desc(call: &Call<'_>) -> CallResult {
    let host = call.host();
    let text = if host.has("hostnamectl") {
        let words = ["hostnamectl", "status", "--pretty"];
        python::str(&run(call, &words)?)
    } else {
        let text = host.read(MACHINE_INFO);
        let Some(value) = text.lines().filter_map(pretty).next_back() else {
            return Ok(false.into());
        };
        let value = value.trim();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
        quoted.unwrap_or(value).to_owned()
    };
    let text = text
        .replace("\\\\", "\\")
        .replace("\\\"", "\"")
        .replace("\\n", "\n")
        .replace("\\t", "\t");
    Ok(text.into())
}

fn set_computer_desc(call: &Call<'_>) -> CallResult {
    let host = call.host();
    let text = call
        .text("desc")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t");
    if host.has("hostnamectl") {
        let ran = Program::new(call, &["hostnamectl", "set-hostname", "--pretty"]).arg(text);
        return Ok(ran.run()?.ok().into());
    }
    check_one_line("desc", &text)?;
    let line = format!("PRETTY_HOSTNAME=\"{text}\"");
    let old = host.read_to_change(MACHINE_INFO)?;
    let mut lines: Vec<&str> = old.lines().collect();
    match lines.iter_mut().find(|line| pretty(line).is_some()) {
        Some(known) => *known = &line,
        None => lines.push(&line),
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(replace_file(&host.path(MACHINE_INFO), text.as_bytes())
        .is_ok()
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read() {
        assert_eq!(offset("+0100").unwrap(), 60);
        assert_eq!(offset("-0930").unwrap(), -570);
        assert_eq!(offset("0000").unwrap(), 0);
        assert!(offset("1").is_err() && offset("+1 00").is_err());
    }
}
