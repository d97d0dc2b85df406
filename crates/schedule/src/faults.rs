//! Finds mistakes in a schedule before it runs.

use halite_proto::{Map, Value};

use crate::due::Due;
use crate::job::{Job, Timing};

/// What the definition of a job may say.
const OPTIONS: [&str; 37] = [
    "after",
    "args",
    "cron",
    "days",
    "dry_run",
    "enabled",
    "fun",
    "func",
    "function",
    "hours",
    "jid_include",
    "kwargs",
    "maxrunning",
    "metadata",
    "minutes",
    "name",
    "once",
    "once_fmt",
    "persist",
    "range",
    "return_config",
    "return_job",
    "return_kwargs",
    "returner",
    "run",
    "run_after_skip_range",
    "run_explicit",
    "run_on_start",
    "saved",
    "seconds",
    "skip_during_range",
    "skip_explicit",
    "skip_function",
    "splay",
    "until",
    "when",
    "whens",
];

/// Something that is wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The job.
    pub job: String,
    /// The option of it that is wrong, if it is one.
    pub option: Option<String>,
    /// What is wrong.
    pub text: String,
}

/// What is wrong with the jobs of a schedule.
pub fn faults(schedule: &Map) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, data) in schedule {
        let (Some(name), Some(data)) = (name.as_str(), data.as_map()) else {
            continue;
        };
        let mut tell = |option: Option<&str>, text: String| {
            faults.push(Fault {
                job: name.to_owned(),
                option: option.map(str::to_owned),
                text,
            });
        };
        for option in data.keys() {
            let option = halite_proto::python::str(option);
            if !OPTIONS.contains(&option.as_str()) && !option.starts_with('_') {
                let text = format!("jobs have no option {option}");
                tell(Some(&option), text);
            }
        }
        if Due::from_definition(name, data).function.is_empty() {
            tell(None, "the job names no function".to_owned());
        }
        match Job::read(name, data, &named) {
            Err(text) => tell(None, text),
            Ok(job) if job.timing == Timing::Never && !job.run_on_start && job.runs.is_empty() => {
                tell(None, "the job has no time at which it would run".to_owned());
            }
            Ok(_) => {}
        }
    }
    faults
}

/// Moments may have names, which pillar and grains tell: what has no digit is
/// taken for one.
fn named(text: &str) -> Option<Value> {
    let is_name = !text.bytes().any(|byte| byte.is_ascii_digit());
    is_name.then(|| Value::from("12:00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(data: Map) -> Vec<String> {
        let schedule = Map::from([("job", Value::from(data)), ("enabled", true.into())]);
        let texts = faults(&schedule).into_iter();
        texts
            .map(|fault| format!("{}: {}", fault.option.unwrap_or_default(), fault.text))
            .collect()
    }

    #[test]
    fn what_is_mistyped_is_told() {
        let job = |more: &[(&'static str, Value)]| {
            let mut data = Map::from([("function", "test.ping")]);
            data.extend(more.iter().cloned().collect::<Map>());
            texts(data)
        };
        assert!(job(&[("seconds", 30.into()), ("maxrunning", 1.into())]).is_empty());
        assert!(job(&[("when", "tea time".into())]).is_empty());
        assert!(job(&[("run_on_start", true.into())]).is_empty());
        assert_eq!(
            job(&[("second", 30.into())]),
            [
                "second: jobs have no option second",
                ": the job has no time at which it would run"
            ]
        );
        assert_eq!(
            job(&[("minutes", "often".into())]),
            [": minutes is not a number. Ignoring job job."]
        );
        assert_eq!(
            job(&[("when", "Moonday 5am".into())]),
            [": Invalid date string Moonday 5am. Ignoring job job."]
        );
        assert_eq!(
            texts(Map::from([("seconds", 1)])),
            [": the job names no function"]
        );
    }
}
