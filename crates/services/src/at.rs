//! Jobs for later: the execution module `at`.

use halite_call::host::Program;
use halite_call::{Call, CallError, CallResult, Function, Module, python};
use halite_proto::{Map, Value};

pub(crate) const MODULE: Module = Module {
    name: "at",
    functions: &[
        Function::new(
            "at.at",
            "(*args, **kwargs)",
            at,
            "Has a command run at a time; tag names the job, runas whose it is.",
        ),
        Function::new("at.atc", "(jobid)", atc, "The script of a job."),
        Function::new(
            "at.atq",
            "(tag=None)",
            |call| Ok(of_jobs(queue(call, call.arg("tag"))?)),
            "The jobs that wait, all or those with a tag or number.",
        ),
        Function::new(
            "at.atrm",
            "(*args)",
            atrm,
            "Removes jobs by their numbers, or with all every one (of a tag).",
        ),
        Function::new(
            "at.jobcheck",
            "(**kwargs)",
            jobcheck,
            "The jobs that fit runas, tag, hour, minute, day, month and year.",
        ),
    ],
};

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn of_jobs(jobs: Vec<Map>) -> Value {
    let jobs: Vec<Value> = jobs.into_iter().map(Value::from).collect();
    Map::from([("jobs", jobs)]).into()
}

fn said(call: &Call<'_>, words: &[&str]) -> Result<String, CallError> {
    let program = words.first().copied().unwrap_or_default();
    if !call.host().has(program) {
        return Err(CallError::NotFound(format!("{program}: command not found")));
    }
    Ok(Program::new(call, words).run()?.stdout)
}

/// A waiting job as `atq` tells it: number, date, time, queue, user.
fn waiting(line: &str) -> Option<(i64, [String; 4])> {
    let (number, rest) = line.split_once('\t')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let texts = |words: [&str; 4]| words.map(str::to_owned);
    let job = number.trim().parse().ok()?;
    match words.as_slice() {
        [_, month, day, time, year, queue, user] => {
            let month = MONTHS.iter().position(|known| known == month)? + 1;
            let day: u8 = day.parse().ok()?;
            let date = format!("{year}-{month:02}-{day:02}");
            Some((job, texts([&date, time, queue, user])))
        }
        [date, time, queue, user] => Some((job, texts([date, time, queue, user]))),
        _ => None,
    }
}

/// The jobs that wait, of a tag or number if that is given.
fn queue(call: &Call<'_>, wanted: &Value) -> Result<Vec<Map>, CallError> {
    let grains = call.ctx.grains();
    let is_red_hat = grains.get("os_family").and_then(Value::as_str) == Some("RedHat");
    let words: &[&str] = if is_red_hat { &["at", "-l"] } else { &["atq"] };
    let mut jobs = Vec::new();
    for line in said(call, words)?.lines() {
        let Some((job, [date, time, queue, user])) = waiting(line) else {
            continue;
        };
        let script = said(call, &["at", "-c", &job.to_string()])?;
        let tag = script
            .lines()
            .filter_map(|line| line.strip_prefix("### SALT: "))
            .map(|rest| {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
            })
            .next_back()
            .unwrap_or_default();
        let fits = !wanted.is_true() || wanted.as_str() == Some(tag) || *wanted == job.into();
        if fits {
            jobs.push(Map::from([
                ("job", Value::from(job)),
                ("date", date.into()),
                ("time", time.into()),
                ("queue", queue.into()),
                ("user", user.into()),
                ("tag", tag.into()),
            ]));
        }
    }
    Ok(jobs)
}

fn atc(call: &Call<'_>) -> CallResult {
    let job = call.text("jobid");
    let script = said(call, &["at", "-c", &job])?;
    Ok(match script.is_empty() {
        true => Map::from([("error", format!("invalid job id '{job}'"))]).into(),
        false => script.into(),
    })
}

fn atrm(call: &Call<'_>) -> CallResult {
    if !call.host().has("at") {
        return Ok("'at.atrm' is not available.".into());
    }
    let args: Vec<String> = call.varargs().iter().map(python::str).collect();
    let (numbers, tag) = match args.as_slice() {
        [] => (Vec::new(), Value::Nil),
        [all, rest @ ..] if all == "all" => {
            let tag = rest.first().map_or(Value::Nil, |tag| tag.as_str().into());
            (queue(call, &tag)?, tag)
        }
        numbers => {
            let mut jobs = queue(call, &Value::Nil)?;
            jobs.retain(|job| {
                let number = job.get("job").map(python::str).unwrap_or_default();
                numbers.contains(&number)
            });
            (jobs, Value::Nil)
        }
    };
    let numbers: Vec<String> = numbers
        .iter()
        .filter_map(|job| job.get("job").map(python::str))
        .collect();
    if !numbers.is_empty() {
        let words: Vec<&str> = ["at", "-d"]
            .into_iter()
            .chain(numbers.iter().map(String::as_str))
            .collect();
        said(call, &words)?;
    }
    let removed: Vec<Value> = numbers.into_iter().map(Value::from).collect();
    let jobs = Map::from([("removed", Value::from(removed)), ("tag", tag)]);
    Ok(Map::from([("jobs", jobs)]).into())
}

fn at(call: &Call<'_>) -> CallResult {
    let args: Vec<String> = call.varargs().iter().map(python::str).collect();
    let [time, command @ ..] = args.as_slice() else {
        return Ok(of_jobs(Vec::new()));
    };
    if command.is_empty() {
        return Ok(of_jobs(Vec::new()));
    }
    if !call.host().has("at") {
        return Ok("'at.at' is not available.".into());
    }
    if time.starts_with('-') {
        return Err(CallError::invocation(format!("not a time: {time:?}")));
    }
    let kwargs = call.clean_kwargs();
    let tag = kwargs.get("tag").map(python::str);
    let tag = tag
        .map(|tag| format!("### SALT: {tag}\n"))
        .unwrap_or_default();
    let runas = kwargs.get("runas").map(python::str);
    let ran = Program::new(call, &["at", time])
        .stdin(format!("{tag}{}\n", command.join(" ")))
        .user(runas.as_deref())
        .run()?;
    // It speaks on the channel of errors.
    let said = [ran.stdout, ran.stderr].join("\n");
    if said.trim_end().ends_with("Garbled time") {
        let error = Value::from("invalid timespec");
        return Ok(Map::from([("jobs", Vec::new().into()), ("error", error)]).into());
    }
    let job = said.lines().find_map(|line| {
        let number = line.strip_prefix("job ")?.split_whitespace().next()?;
        number.parse::<i64>().ok()
    });
    match job {
        Some(job) => Ok(of_jobs(queue(call, &job.into())?)),
        None => Err(CallError::command(format!("at: {}", said.trim()))),
    }
}

fn jobcheck(call: &Call<'_>) -> CallResult {
    let kwargs = call.clean_kwargs();
    if kwargs.is_empty() {
        return Ok(Map::from([("error", "You have given a condition")]).into());
    }
    let jobs = queue(call, &Value::Nil)?;
    if jobs.is_empty() {
        return Ok(of_jobs(jobs));
    }
    let wanted = |name: &str| kwargs.get(name).filter(|value| value.is_true());
    let two = |name: &str| -> Result<Option<String>, CallError> {
        wanted(name)
            .map(|value| Ok(format!("{:02}", python::int(value)?)))
            .transpose()
    };
    let (hour, minute, day, month) = (two("hour")?, two("minute")?, two("day")?, two("month")?);
    let year = wanted("year")
        .map(python::str)
        .map(|year| match year.len() {
            2 => format!("20{year}"),
            _ => year,
        });
    let is = |wanted: &Option<String>, part: Option<&str>| {
        wanted.as_deref().is_none_or(|wanted| Some(wanted) == part)
    };
    let fitting: Vec<Map> = jobs
        .into_iter()
        .filter(|job| {
            let text = |name: &str| job.get(name).and_then(Value::as_str).unwrap_or_default();
            let same = |name: &str, field: &str| {
                wanted(name).is_none_or(|wanted| python::str(wanted) == text(field))
            };
            let part = |name: &str, mark: char, at: usize| text(name).split(mark).nth(at);
            same("runas", "user")
                && same("tag", "tag")
                && is(&hour, part("time", ':', 0))
                && is(&minute, part("time", ':', 1))
                && is(&day, part("date", '-', 2))
                && is(&month, part("date", '-', 1))
                && is(&year, part("date", '-', 0))
        })
        .collect();
    if fitting.is_empty() {
        let note = Value::from("No match jobs or time format error");
        return Ok(Map::from([("jobs", Vec::new().into()), ("note", note)]).into());
    }
    Ok(of_jobs(fitting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_jobs_are_read() {
        let (job, about) = waiting("3\tFri Nov 20 17:00:00 2026 a root").unwrap();
        assert_eq!(job, 3);
        assert_eq!(about, ["2026-11-20", "17:00:00", "a", "root"]);
        let (_, about) = waiting("3\t2026-11-20 17:00 a root").unwrap();
        assert_eq!(about, ["2026-11-20", "17:00", "a", "root"]);
        assert_eq!(waiting("x"), None);
    }
}
