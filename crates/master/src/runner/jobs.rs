//! `jobs.*`: past and running jobs and their results.

use halite_proto::time::jid_to_text;
use halite_proto::{Jid, Map, Value};
use halite_store::{JobFilter, StoredReturn};

use super::Call;
use super::error::{Ran, RunnerError};
use super::job_list::list_jobs;
use super::job_source::Source;
use super::search::Search;
use super::table::Function;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new(
        "jobs.exit_success",
        "(jid, ext_source=None)",
        exit_success,
        "Whether each minion of a job returned something that is true.",
    ),
    Function::new(
        "jobs.last_run",
        "(ext_source=None, outputter=None, metadata=None, function=None, target=None, display_progress=False)",
        last_run,
        "The newest job that matches.",
    ),
    Function::new(
        "jobs.list_job",
        "(jid, ext_source=None, display_progress=False)",
        list_job,
        "All that is stored of one job.",
    ),
    Function::new(
        "jobs.list_jobs",
        "(ext_source=None, outputter=None, search_metadata=None, search_function=None, search_target=None, start_time=None, end_time=None, display_progress=False, search_user=None)",
        list_jobs,
        "The stored jobs that match.",
    ),
    Function::new(
        "jobs.list_jobs_filter",
        "(count, filter_find_job=True, ext_source=None, outputter=None, display_progress=False)",
        list_jobs_filter,
        "The newest jobs, up to a count.",
    ),
    Function::new(
        "jobs.lookup_jid",
        "(jid, ext_source=None, returned=True, missing=False, display_progress=False)",
        lookup_jid,
        "What the minions returned to a job.",
    ),
    Function::new(
        "jobs.print_job",
        "(jid, ext_source=None)",
        print_job,
        "All that is stored of one job, under its id.",
    ),
];

/// The function by which masters ask whether a minion runs a job.
const QUESTION: &str = "saltutil.find_job";

/// The description of a job from its load, with Salt's field names. The values are moved,
/// not copied, and each field is visited once, because there may be very many jobs.
fn formatted(load: Option<Map>) -> Map {
    let Some(load) = load.filter(|load| !load.is_empty()) else {
        return Map::from([("Error", "Cannot contact returner or no job with this jid")]);
    };
    let metadata = metadata_of(&load).cloned();
    let [
        mut fun,
        mut arg,
        mut tgt,
        mut tgt_type,
        mut user,
        mut minions,
    ] = [const { None }; 6];
    for (name, value) in load {
        let field = match name.as_str() {
            Some("fun") => &mut fun,
            Some("arg") => &mut arg,
            Some("tgt") => &mut tgt,
            Some("tgt_type") => &mut tgt_type,
            Some("user") => &mut user,
            Some("Minions") => &mut minions,
            _ => continue,
        };
        *field = Some(value);
    }
    let or = |value: Option<Value>, default: &str| value.unwrap_or_else(|| default.into());
    let arg = arg.filter(|arg| arg.as_list().is_some());
    let always = [
        ("Function", or(fun, "unknown-function")),
        ("Arguments", arg.unwrap_or(Value::List(Vec::new()))),
        ("Target", or(tgt, "unknown-target")),
        ("Target-type", or(tgt_type, "list")),
        ("User", or(user, "root")),
    ];
    let sometimes = [("Metadata", metadata), ("Minions", minions)];
    let given = sometimes.iter().filter(|(_, value)| value.is_some());
    // With room for the time, which comes last.
    let mut job = Vec::with_capacity(always.len() + given.count() + 1);
    job.extend(always.map(|(name, value)| (name.into(), value)));
    for (name, value) in sometimes {
        job.extend(value.map(|value| (name.into(), value)));
    }
    Map::from_distinct(job)
}

/// The metadata of a job, wherever its publisher has put it.
fn metadata_of(load: &Map) -> Option<&Value> {
    let in_options = || load.get("kwargs")?.get("metadata");
    let in_arguments = || {
        let arg = load.get("arg")?.as_list()?;
        arg.iter()
            .filter_map(Value::as_map)
            .find(|map| map.get("__kwarg__").is_some_and(Value::is_true))?
            .get("metadata")
    };
    load.get("metadata")
        .or_else(in_options)
        .or_else(in_arguments)
}

pub(super) fn formatted_with_time(jid: &Jid, load: Option<Map>) -> Map {
    let mut job = formatted(load);
    job.insert("StartTime", jid_to_text(jid));
    job
}

pub(super) fn returns(
    call: &Call<'_>,
    jid: &Jid,
) -> Result<Vec<(String, StoredReturn)>, RunnerError> {
    Source::of(call)?.returns(jid)
}

/// The job of the argument `jid` as `list_job` gives it, without the id.
fn job(call: &Call<'_>, jid: &Jid) -> Result<Map, RunnerError> {
    let source = Source::of(call)?;
    let load = source.load(jid)?;
    let mut job = formatted_with_time(jid, load);
    let (mut result, mut commits) = (Map::new(), Map::new());
    for (id, stored) in source.returns(jid)? {
        if !stored.commits.is_empty() {
            commits.insert(id.as_str(), stored.commits.to_value());
        }
        result.insert(id, stored.into_map());
    }
    job.insert("Result", result);
    // Beyond Salt's, and only where files came from git.
    if !commits.is_empty() {
        job.insert("Commits", commits);
    }
    if call.runners.jobs.settings.stores_endtime
        && let Some(endtime) = source.endtime(jid)?
    {
        job.insert("EndTime", endtime);
    }
    Ok(job)
}

/// Reports what is read, if that is asked for.
fn tell(call: &Call<'_>, message: &str) {
    if call.flag("display_progress") {
        call.progress(Map::from([("message", message)]));
    }
}

/// Reports which returner is queried about one job.
fn tell_source(call: &Call<'_>) -> Result<(), RunnerError> {
    let source = Source::of(call)?;
    tell(call, &format!("Querying returner: {}", source.name()));
    Ok(())
}

/// Reports which returner is queried about all jobs.
pub(super) fn tell_source_of_all(call: &Call<'_>) -> Result<(), RunnerError> {
    let source = Source::of(call)?;
    let text = format!("Querying returner {} for jobs.", source.name());
    tell(call, &text);
    Ok(())
}

/// The id of the argument `jid`.
pub(super) fn wanted(call: &Call<'_>) -> Result<Jid, RunnerError> {
    call.jid_arg("jid").ok_or_else(|| {
        let given = halite_proto::python::repr(call.arg("jid"));
        RunnerError::Failed(format!("{given} is not a job id"))
    })
}

fn list_job(call: &Call<'_>) -> Ran {
    let jid = wanted(call)?;
    tell_source(call)?;
    let mut listed = Map::from([("jid", &jid)]);
    listed.extend(job(call, &jid)?);
    Ok(listed.into())
}

fn print_job(call: &Call<'_>) -> Ran {
    let jid = wanted(call)?;
    let job = job(call, &jid)?;
    Ok(Map::from([(jid.as_str(), job)]).into())
}

fn lookup_jid(call: &Call<'_>) -> Ran {
    let jid = wanted(call)?;
    tell_source(call)?;
    let returns = returns(call, &jid)?;
    for (id, _) in &returns {
        tell(call, id);
    }
    // The first one's outputter stands for all.
    let outputter = returns.first().and_then(|(_, stored)| stored.out.clone());
    let mut found = Map::new();
    if call.flag("missing") {
        let load = Source::of(call)?.load(&jid)?.unwrap_or_default();
        let meant = load.get("Minions").and_then(Value::as_list);
        for id in meant.unwrap_or_default().iter().filter_map(Value::as_str) {
            if !returns.iter().any(|(returned, _)| returned == id) {
                found.insert(id, "Minion did not return");
            }
        }
    }
    if call.flag("returned") {
        let all: Map = returns
            .into_iter()
            .map(|(id, stored)| (Value::from(id), stored.ret().clone()))
            .collect();
        found = all.into_iter().chain(found).collect();
    }
    Ok(with_outputter(found.into(), outputter.as_deref()))
}

pub(super) fn with_outputter(data: Value, outputter: Option<&str>) -> Value {
    match outputter.filter(|name| !name.is_empty()) {
        Some(name) => Map::from([("outputter", Value::from(name)), ("data", data)]).into(),
        None => data,
    }
}

fn exit_success(call: &Call<'_>) -> Ran {
    let jid = wanted(call)?;
    let load = Source::of(call)?.load(&jid)?.unwrap_or_default();
    let meant = load.get("Minions").and_then(Value::as_list);
    let mut found: Map = meant
        .unwrap_or_default()
        .iter()
        .map(|id| (id.clone(), Value::from(false)))
        .collect();
    for (id, stored) in returns(call, &jid)? {
        // A job that was killed, or whose function failed, returns text as well.
        let failed = stored.data.get("success") == Some(&Value::from(false));
        let is_good = stored.ret().is_true() && !failed;
        if is_good || !found.contains_key(&id) {
            found.insert(id, is_good);
        }
    }
    found.retain(|_, value| !value.is_nil());
    Ok(found.into())
}

fn last_run(call: &Call<'_>) -> Ran {
    let metadata = call.arg("metadata");
    if metadata.is_true() && metadata.as_map().is_none() {
        return Ok(false.into());
    }
    tell_source_of_all(call)?;
    let search = Search {
        metadata,
        function: call.arg("function"),
        target: call.arg("target"),
        user: &Value::Nil,
        start: None,
        end: None,
    };
    // One job is kept in memory, however many there are.
    let fits = |jid: Jid, load: Map| {
        let job = formatted_with_time(&jid, Some(load));
        search.fits(&jid, &job).then_some(jid)
    };
    match Source::of(call)?.newest(1, &search.filter(), fits)?.pop() {
        Some(jid) => {
            let job = job(call, &jid)?;
            Ok(Map::from([(jid.as_str(), job)]).into())
        }
        None => Ok(false.into()),
    }
}

fn list_jobs_filter(call: &Call<'_>) -> Ran {
    let count = call.arg("count");
    let text = || count.as_str().and_then(|text| text.trim().parse().ok());
    let Some(count) = count.as_i64().or_else(text) else {
        return Err(RunnerError::BadArguments(format!(
            "the count is a number, not {}",
            halite_proto::python::repr(count)
        )));
    };
    let count = usize::try_from(count).unwrap_or(0);
    tell_source_of_all(call)?;
    let skips_questions = call.flag("filter_find_job");
    let fits = |jid: Jid, load: Map| {
        let is_question = load.get("fun") == Some(&Value::from(QUESTION));
        (!skips_questions || !is_question).then_some((jid, load))
    };
    let filter = JobFilter {
        not_function: skips_questions.then(|| QUESTION.to_owned()),
        ..JobFilter::default()
    };
    let jobs = Source::of(call)?.newest(count, &filter, fits)?;
    let newest: Vec<Value> = jobs
        .into_iter()
        .rev()
        .map(|(jid, load)| {
            let mut job = formatted(Some(load));
            job.insert("JID", &jid);
            job.insert("StartTime", jid_to_text(&jid));
            job.into()
        })
        .collect();
    Ok(with_outputter(newest.into(), call.text("outputter")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_described_in_salts_words() {
        let load = Map::from([
            ("fun", Value::from("test.ping")),
            ("tgt", "*".into()),
            ("tgt_type", "glob".into()),
            ("user", "root".into()),
            (
                "kwargs",
                Map::from([("metadata", Map::from([("a", 1)]))]).into(),
            ),
        ]);
        let job = formatted(Some(load));
        let keys: Vec<_> = job.keys().filter_map(Value::as_str).collect();
        let shown = "Function Arguments Target Target-type User Metadata";
        assert_eq!(keys.join(" "), shown);
        assert_eq!(job.get("Target"), Some(&"*".into()));
        assert_eq!(job.get("Arguments"), Some(&Value::List(Vec::new())));
        let job = formatted(Some(Map::from([(
            "Minions",
            Value::List(vec!["a".into()]),
        )])));
        assert_eq!(job.get("User"), Some(&"root".into()));
        assert_eq!(job.get("Minions"), Some(&Value::List(vec!["a".into()])));
        assert!(!job.contains_key("Metadata"));
        assert_eq!(formatted(None).len(), 1);
        assert!(formatted(None).contains_key("Error"));
    }
}
