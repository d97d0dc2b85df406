//! Functions that show commits, or put changes aside.

use std::path::Path;

use halite_call::{Call, CallError, CallResult, python};
use halite_proto::Value;

use super::Git;
use super::command::{list_of, texts, words_of};
use crate::only;

pub(super) fn archive(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["format"])?;
    let mut words = vec!["archive".to_owned()];
    let cwd = call.text("cwd");
    let prefix = call.text_opt("prefix").unwrap_or_else(|| {
        let name = Path::new(&cwd).file_name().unwrap_or_default();
        format!("{}/", name.to_string_lossy())
    });
    if !prefix.is_empty() {
        words.extend(["--prefix".to_owned(), prefix]);
    }
    if let Some(format) = kwargs.get("format").filter(|format| format.is_true()) {
        words.extend(["--format".to_owned(), python::str(format)]);
    }
    words.extend(["--output".to_owned(), call.text("output"), call.text("rev")]);
    Git::of(call).run(call, &words)?;
    Ok(true.into())
}

pub(super) fn diff(call: &Call<'_>) -> CallResult {
    let (no_index, cached) = (call.flag("no_index"), call.flag("cached"));
    if no_index && cached {
        return Err(CallError::command(
            "The 'no_index' and 'cached' options cannot be used together",
        ));
    }
    let mut words = vec!["diff".to_owned()];
    words.extend(words_of(call, "opts"));
    let paths = list_of(call.arg("paths"));
    if no_index {
        words.push("--no-index".to_owned());
    } else {
        if cached {
            words.push("--cached".to_owned());
        }
        words.extend(call.text_opt("item1"));
        // The index is the other side already.
        words.extend(call.text_opt("item2").filter(|_| !cached));
    }
    if !paths.is_empty() {
        words.push("--".to_owned());
        words.extend(paths);
    }
    let git = Git::of(call);
    if no_index {
        // Files that differ are no failure.
        return Ok(git.may_fail(call, &words)?.stdout.into());
    }
    Ok(git.run(call, &words)?.into())
}

pub(super) fn merge_base(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["all"])?;
    let refs = list_of(call.arg("refs"));
    let fork_point = call.text_opt("fork_point").filter(|text| !text.is_empty());
    let flags = ["octopus", "independent", "is_ancestor"];
    let chosen = flags.iter().filter(|flag| call.flag(flag)).count();
    if chosen + usize::from(fork_point.is_some()) > 1 {
        return Err(CallError::invocation(
            "Only one of 'octopus', 'independent', 'is_ancestor', and 'fork_point' is permitted",
        ));
    }
    let git = Git::of(call);
    if call.flag("is_ancestor") {
        if refs.len() != 2 {
            return Err(CallError::invocation(
                "Two refs/commits are required if 'is_ancestor' is True",
            ));
        }
        let mut words = ["merge-base", "--is-ancestor"].map(str::to_owned).to_vec();
        words.extend(refs);
        return match git.may_fail(call, &words)? {
            ran if ran.ok() => Ok(true.into()),
            ran if ran.code == 1 => Ok(false.into()),
            ran => Err(git.failed(&words, &ran)),
        };
    }
    let all = kwargs.get("all").is_some_and(Value::is_true);
    let mut words = vec!["merge-base".to_owned()];
    words.extend(words_of(call, "opts"));
    if all {
        words.push("--all".to_owned());
    }
    match fork_point {
        Some(point) => words.extend(["--fork-point".to_owned(), point]),
        None => {
            let flag = flags.iter().find(|flag| call.flag(flag));
            words.extend(flag.map(|flag| format!("--{flag}")));
        }
    }
    words.extend(refs);
    let out = git.run(call, &words)?;
    let mut found: Vec<String> = out.lines().map(str::to_owned).collect();
    if all {
        return Ok(texts(found));
    }
    found.truncate(1);
    Ok(found.pop().unwrap_or_default().into())
}

pub(super) fn merge_tree(call: &Call<'_>) -> CallResult {
    let git = Git::of(call);
    let (one, two) = (call.text("ref1"), call.text("ref2"));
    let base = match call.text_opt("base") {
        Some(base) => base,
        None => git.go(call, &["merge-base", &one, &two])?,
    };
    Ok(git.go(call, &["merge-tree", &base, &one, &two])?.into())
}

pub(super) fn discard_local_changes(call: &Call<'_>) -> CallResult {
    let path = call.text("path");
    Ok(Git::of(call).go(call, &["checkout", "--", &path])?.into())
}

pub(super) fn rm(call: &Call<'_>) -> CallResult {
    let mut words = vec!["rm".to_owned()];
    words.extend(words_of(call, "opts"));
    words.extend(["--".to_owned(), call.text("filename")]);
    Ok(Git::of(call).run(call, &words)?.into())
}

pub(super) fn rebase(call: &Call<'_>) -> CallResult {
    let mut words = vec!["rebase".to_owned()];
    words.extend(words_of(call, "opts"));
    words.extend(words_of(call, "rev"));
    Ok(Git::of(call).run(call, &words)?.into())
}

pub(super) fn symbolic_ref(call: &Call<'_>) -> CallResult {
    let value = call.text_opt("value").filter(|value| !value.is_empty());
    let mut words = vec!["symbolic-ref".to_owned()];
    let opts = words_of(call, "opts");
    let deletes = opts.iter().any(|opt| opt == "-d" || opt == "--delete");
    if deletes && value.is_some() {
        return Err(CallError::invocation(
            "Value cannot be set for symbolic ref if -d/--delete is included in opts",
        ));
    }
    words.extend(opts);
    words.push(call.text("ref"));
    words.extend(value.clone());
    let out = Git::of(call).run(call, &words)?;
    Ok(if value.is_some() || deletes {
        true.into()
    } else {
        out.into()
    })
}

pub(super) fn tag(call: &Call<'_>) -> CallResult {
    let mut words = vec!["tag".to_owned()];
    words.extend(words_of(call, "opts"));
    if let Some(message) = call.text_opt("message").filter(|text| !text.is_empty()) {
        words.extend(["-m".to_owned(), message]);
    }
    words.extend([call.text("name"), call.text("ref")]);
    Ok(Git::of(call).run(call, &words)?.into())
}
