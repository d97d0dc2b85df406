//! A job on its way out: its publication, its events, and its record.
//!
//! Invariant: what is published has Salt's keys and no others, and no proof of the
//! caller's identity gets into an event, a file or a publication.

use halite_call::args::{Parted, part_surely};
use halite_proto::clear::{Credentials, PublishRequest};
use halite_proto::publish::{FunSpec, PublishLoad};
use halite_proto::returns::{JobReturn, PUBLISHER};
use halite_proto::{Jid, Map, MinionId, PublisherId, Value};
use halite_target::range;

use super::perms;
use super::targets::{Asked, Resolved};
use crate::limits::{FUNCTION_BYTES_MAX, FUNCTIONS_PER_JOB_MAX};

/// What separates the parts of a target where nothing else is asked for.
pub const DELIMITER_DEFAULT: &str = ":";

/// The target of a request.
pub fn asked(request: &PublishRequest) -> Asked<'_> {
    Asked {
        tgt: &request.tgt,
        tgt_type: &request.tgt_type,
        delimiter: request.delimiter().unwrap_or(DELIMITER_DEFAULT),
        with_unknown: false,
        ranges: None,
    }
}

/// Whether somebody has to be asked for the hosts of the target.
pub fn asks_range(request: &PublishRequest) -> bool {
    match request.tgt_type.as_str() {
        "range" => true,
        "compound" => request.tgt.as_str().is_some_and(range::is_in),
        _ => false,
    }
}

/// The arguments of each function of a request, as minions part them; `None`
/// where it is not certain how one does.
pub fn arguments(request: &PublishRequest) -> Vec<Option<Parted>> {
    let of_one = |n: usize| match request.arg.get(n) {
        Some(Value::List(args)) => part_surely(args),
        Some(_) => None,
        None => Some(Parted::default()),
    };
    match &request.fun {
        FunSpec::One(_) => vec![part_surely(&request.arg)],
        FunSpec::Many(names) => (0..names.len()).map(of_one).collect(),
    }
}

/// The functions of a request with their arguments.
pub fn functions<'a>(
    request: &'a PublishRequest,
    arguments: &'a [Option<Parted>],
) -> Vec<perms::Asked<'a>> {
    let names = request.fun.names().iter();
    names
        .zip(arguments)
        .map(|(fun, args)| perms::Asked {
            fun,
            args: args.as_ref(),
        })
        .collect()
}

/// What in a request is too large, in words.
pub fn too_large(request: &PublishRequest) -> Option<String> {
    let names = request.fun.names();
    if names.len() > FUNCTIONS_PER_JOB_MAX {
        return Some(format!(
            "a job has at most {FUNCTIONS_PER_JOB_MAX} functions"
        ));
    }
    let is_long = |name: &String| name.len() > FUNCTION_BYTES_MAX;
    names
        .iter()
        .any(is_long)
        .then(|| format!("the name of a function has at most {FUNCTION_BYTES_MAX} bytes"))
}

/// The fields of a request that lists of functions do not cover: how and where a returner
/// writes, and the executor of a function. Either would turn the right to one function
/// into the right to all.
pub fn beyond_functions(request: &PublishRequest) -> Option<&'static str> {
    [
        "ret_config",
        "ret_kwargs",
        "module_executors",
        "executor_opts",
    ]
    .into_iter()
    .find(|name| request.kwargs.get(name).is_some_and(Value::is_true))
}

/// The field by which a program asks for the progress of state runs.
pub const PROGRESS: &str = "progress";

/// Whether the caller shows how far the job is.
pub fn asks_for_progress(request: &PublishRequest) -> bool {
    request.kwargs.get(PROGRESS).is_some_and(Value::is_true)
}

/// The load that minions get.
pub fn publish_load(request: &PublishRequest, jid: Jid, master_id: Option<&str>) -> PublishLoad {
    let option = |name: &str| request.kwargs.get(name).filter(|value| !value.is_nil());
    let text = |name: &str| option(name).and_then(Value::as_str).map(str::to_owned);
    PublishLoad {
        ret: request.ret.clone(),
        master_id: text("master_id").or_else(|| master_id.map(str::to_owned)),
        delimiter: text("delimiter").filter(|delimiter| delimiter != DELIMITER_DEFAULT),
        id: text("id"),
        to: request.to.clone(),
        ret_config: option("ret_config").cloned(),
        metadata: option("metadata").cloned(),
        module_executors: option("module_executors").cloned(),
        executor_opts: option("executor_opts").cloned(),
        ret_kwargs: option("ret_kwargs").cloned(),
        start_event: option("start_event")
            .filter(|wanted| wanted.is_true())
            .map(|_| Value::from(true)),
        user: request.user.clone(),
        ..PublishLoad::new(
            request.fun.clone(),
            request.arg.clone(),
            request.tgt.clone(),
            &request.tgt_type,
            jid,
        )
    }
}

/// Narrows a load to the minions that it was resolved to, where the caller's
/// rights cover those and the target could match others by now.
pub fn restrict(load: &mut PublishLoad, minions: &[MinionId]) {
    load.tgt = Value::List(minions.iter().map(Value::from).collect());
    "list".clone_into(&mut load.tgt_type);
    load.delimiter = None;
}

/// The data of `salt/job/<jid>/new`.
pub fn new_event(load: &PublishLoad, resolved: &Resolved) -> Map {
    let minions: Vec<Value> = resolved.minions.iter().map(Value::from).collect();
    let missing: Vec<Value> = resolved
        .missing
        .iter()
        .map(|id| Value::from(id.as_str()))
        .collect();
    Map::from([
        ("jid", Value::from(&load.jid)),
        ("tgt_type", Value::from(load.tgt_type.as_str())),
        ("tgt", load.tgt.clone()),
        ("user", Value::from(load.user.clone())),
        ("fun", load.fun.to_value()),
        ("arg", Value::from(load.arg.clone())),
        ("minions", Value::from(minions)),
        ("missing", Value::from(missing)),
    ])
}

/// The load of a request for the job cache.
pub fn saved_load(request: &PublishRequest, jid: &Jid) -> Map {
    let mut saved = without_proofs(request);
    saved.jid = Some(jid.clone());
    saved.to_map()
}

/// Records in the stored load which master allocated the job's id, if this one did, so
/// that a return of another master's job with the same id is recognised.
pub fn note_publisher(saved: &mut Map, drawn_by: Option<PublisherId>) {
    let drawn_by = drawn_by.map(|id| id.to_string()).unwrap_or_default();
    saved.insert(PUBLISHER, drawn_by);
}

/// Whether a return belongs to another job than the one that this master has
/// published under its id. Where it is not known who has drawn both ids, the
/// same command is the same job: several masters may pass on one of a master
/// above them.
pub fn is_of_another(published: &Map, drawn_by: &str, job: &JobReturn) -> bool {
    let Some(own) = published.get(PUBLISHER).and_then(Value::as_str) else {
        return false;
    };
    if !own.is_empty() && !drawn_by.is_empty() {
        return own != drawn_by;
    }
    let args = published.get("arg").and_then(Value::as_list);
    published.get("fun") != Some(&job.fun.to_value())
        || args.unwrap_or_default() != job.fun_args.as_slice()
}

/// The data of `salt/job/<jid>/error`: who wanted to log in, and how, but
/// nothing that proves it.
pub fn error_event(request: &PublishRequest, error: Map) -> Map {
    let mut told = without_proofs(request);
    told.credentials
        .eauth
        .clone_from(&request.credentials.eauth);
    told.credentials
        .username
        .clone_from(&request.credentials.username);
    let mut data = told.to_map();
    data.insert("error", error);
    data
}

fn without_proofs(request: &PublishRequest) -> PublishRequest {
    PublishRequest {
        credentials: Credentials::default(),
        ..request.clone()
    }
}

#[cfg(test)]
mod tests {
    use halite_proto::returns::ReturnJid;

    use super::*;

    fn request(kwargs: Map) -> PublishRequest {
        PublishRequest::from_map(Map::from([
            ("cmd", Value::from("publish")),
            ("tgt", "*".into()),
            ("fun", "test.ping".into()),
            ("arg", Value::List(vec![1.into()])),
            ("key", "the secret key".into()),
            ("tgt_type", "glob".into()),
            ("ret", "".into()),
            ("jid", "".into()),
            ("kwargs", kwargs.into()),
            ("user", "root".into()),
        ]))
        .unwrap()
    }

    fn jid() -> Jid {
        Jid::parse("20261120141841939742").unwrap()
    }

    #[test]
    fn only_salts_keys_are_published_and_in_its_order() {
        let request = request(Map::from([
            ("show_timeout", Value::from(true)),
            ("delimiter", ":".into()),
            ("password", "the secret".into()),
            ("start_event", false.into()),
            ("metadata", Map::from([("a", 1)]).into()),
        ]));
        let map = publish_load(&request, jid(), None).to_map();
        let keys: Vec<_> = map.keys().filter_map(Value::as_str).collect();
        assert_eq!(
            keys,
            [
                "fun", "arg", "tgt", "jid", "ret", "tgt_type", "metadata", "user"
            ]
        );
    }

    #[test]
    fn no_proof_is_kept_or_told() {
        let request = request(Map::from([
            ("token", "the secret token"),
            ("eauth", "pam"),
            ("username", "fred"),
            ("password", "the secret word"),
            ("delimiter", "|"),
        ]));
        let load = publish_load(&request, jid(), Some("m1"));
        assert_eq!(load.delimiter.as_deref(), Some("|"));
        assert_eq!(load.master_id.as_deref(), Some("m1"));
        for map in [
            saved_load(&request, &jid()),
            error_event(&request, Map::new()),
            load.to_map(),
            new_event(&load, &Resolved::default()),
        ] {
            let shown = format!("{map:?}");
            assert!(!shown.contains("secret"), "{shown}");
        }
        let told = error_event(&request, Map::new());
        let kwargs = told.get("kwargs").and_then(Value::as_map).unwrap();
        assert_eq!(kwargs.get("username"), Some(&Value::from("fred")));
        assert_eq!(
            saved_load(&request, &jid()).get("jid"),
            Some(&Value::from(&jid()))
        );
    }

    #[test]
    fn a_return_of_another_masters_job_is_known() {
        let returned = |fun: &str, args: Vec<Value>| {
            let jid = ReturnJid::Jid(jid());
            JobReturn::new(jid, fun.into(), args, true.into(), 0)
        };
        let same = returned("test.ping", vec![1.into()]);
        let other = returned("test.ping", vec![2.into()]);
        let [own, foreign] = [1, 2].map(PublisherId::new);
        let published = |drawn_by| {
            let mut saved = saved_load(&request(Map::new()), &jid());
            note_publisher(&mut saved, drawn_by);
            saved
        };
        let drawn = published(Some(own));
        assert!(!is_of_another(&drawn, &own.to_string(), &same));
        // Even the same command is another job.
        assert!(is_of_another(&drawn, &foreign.to_string(), &same));
        // One of a Salt master, or one whose id was given.
        assert!(!is_of_another(&drawn, "", &same));
        assert!(is_of_another(&drawn, "", &other));
        let given = published(None);
        assert!(!is_of_another(&given, &foreign.to_string(), &same));
        assert!(is_of_another(&given, &foreign.to_string(), &other));
        // Stored by an older version, or made of a return.
        let old = saved_load(&request(Map::new()), &jid());
        assert!(!is_of_another(&old, &foreign.to_string(), &other));
    }

    #[test]
    fn each_function_has_its_arguments() {
        let mut request = request(Map::new());
        let positional = |args: &Option<Parted>| args.as_ref().map(|args| args.positional.clone());
        assert_eq!(positional(&arguments(&request)[0]), Some(vec![1.into()]));
        request.fun = FunSpec::Many(vec!["a.b".into(), "c.d".into()]);
        request.arg = vec![Value::List(vec![7.into()])];
        let parted = arguments(&request);
        assert_eq!(positional(&parted[0]), Some(vec![7.into()]));
        assert_eq!(positional(&parted[1]), Some(Vec::new()));
        assert_eq!(functions(&request, &parted).len(), 2);
        // A minion of Salt takes it letter by letter.
        request.arg = vec!["text".into()];
        assert_eq!(arguments(&request)[0], None);
    }
}
