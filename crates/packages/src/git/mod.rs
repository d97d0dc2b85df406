//! Source trees of git: the execution module `git`.
//!
//! Invariant: a password in the place of a repository is in no message.

pub(crate) mod run;

use halite_modules::{Call, CallResult, Function, Module, python};
use halite_proto::{Map, Value};
pub(crate) use run::Git;

pub(crate) const MODULE: Module = Module {
    name: "git",
    functions: &[
        Function::new(
            "git.add",
            "(cwd, filename, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["add"], &["opts", "filename"]),
            "Adds files to what is committed next.",
        ),
        Function::new(
            "git.branch",
            "(cwd, name=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| {
                Ok({
                    run_one(call, &["branch"], &["opts", "name"])?;
                    true.into()
                })
            },
            "Makes, changes or deletes a branch.",
        ),
        Function::new(
            "git.checkout",
            "(cwd, rev=None, force=False, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            checkout,
            "Checks a revision out.",
        ),
        Function::new(
            "git.clone",
            "(cwd, url=None, name=None, opts='', git_opts='', user=None, password=None, identity=None, https_user=None, https_pass=None, ignore_retcode=False, saltenv='base', output_encoding=None)",
            clone,
            "Clones a repository to a directory.",
        ),
        Function::new(
            "git.commit",
            "(cwd, message, opts='', git_opts='', user=None, password=None, filename=None, ignore_retcode=False, output_encoding=None)",
            commit,
            "Commits what was added.",
        ),
        Function::new(
            "git.config_get",
            "(key, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            config_get,
            "A value of git's configuration.",
        ),
        Function::new(
            "git.config_set",
            "(key, value=None, multivar=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            config_set,
            "Sets a value of git's configuration.",
        ),
        Function::new(
            "git.config_unset",
            "(key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            config_unset,
            "Removes a value from git's configuration.",
        ),
        Function::new(
            "git.current_branch",
            "(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["rev-parse", "--abbrev-ref", "HEAD"], &[]),
            "The branch that is checked out.",
        ),
        Function::new(
            "git.describe",
            "(cwd, rev='HEAD', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["describe"], &["rev"]),
            "The nearest tag of a revision.",
        ),
        Function::new(
            "git.fetch",
            "(cwd, remote=None, force=False, refspecs=None, opts='', git_opts='', user=None, password=None, identity=None, ignore_retcode=False, saltenv='base', output_encoding=None)",
            fetch,
            "Fetches what is new; the references that changed.",
        ),
        Function::new(
            "git.init",
            "(cwd, bare=False, template=None, separate_git_dir=None, shared=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            init,
            "Makes a repository.",
        ),
        Function::new(
            "git.is_worktree",
            "(cwd, user=None, password=None, output_encoding=None)",
            is_worktree,
            "Whether a directory is a further work tree of a repository.",
        ),
        Function::new(
            "git.list_branches",
            "(cwd, remote=False, user=None, password=None, ignore_retcode=False, output_encoding=None)",
            list_branches,
            "The branches of a repository.",
        ),
        Function::new(
            "git.list_tags",
            "(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None)",
            list_tags,
            "The tags of a repository.",
        ),
        Function::new(
            "git.ls_remote",
            "(cwd=None, remote='origin', ref=None, opts='', git_opts='', user=None, password=None, identity=None, https_user=None, https_pass=None, ignore_retcode=False, output_encoding=None, saltenv='base')",
            ls_remote,
            "The references of a remote repository.",
        ),
        Function::new(
            "git.merge",
            "(cwd, rev=None, opts='', git_opts='', user=None, password=None, identity=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            |call| run_one(call, &["merge"], &["opts", "rev"]),
            "Merges a revision.",
        ),
        Function::new(
            "git.pull",
            "(cwd, opts='', git_opts='', user=None, password=None, identity=None, ignore_retcode=False, saltenv='base', output_encoding=None)",
            |call| run_one(call, &["pull"], &["opts"]),
            "Fetches and merges.",
        ),
        Function::new(
            "git.push",
            "(cwd, remote=None, ref=None, opts='', git_opts='', user=None, password=None, identity=None, ignore_retcode=False, saltenv='base', output_encoding=None, **kwargs)",
            |call| run_one(call, &["push"], &["opts", "remote", "ref"]),
            "Sends to a remote repository.",
        ),
        Function::new(
            "git.remote_get",
            "(cwd, remote='origin', user=None, password=None, redact_auth=True, ignore_retcode=False, output_encoding=None)",
            remote_get,
            "The places of a remote.",
        ),
        Function::new(
            "git.remote_set",
            "(cwd, url, remote='origin', user=None, password=None, https_user=None, https_pass=None, push_url=None, push_https_user=None, push_https_pass=None, ignore_retcode=False, output_encoding=None)",
            remote_set,
            "Sets the place of a remote.",
        ),
        Function::new(
            "git.remotes",
            "(cwd, user=None, password=None, redact_auth=True, ignore_retcode=False, output_encoding=None)",
            remotes,
            "All remotes and their places.",
        ),
        Function::new(
            "git.reset",
            "(cwd, opts='', git_opts='', user=None, password=None, identity=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["reset"], &["opts"]),
            "Resets the work tree.",
        ),
        Function::new(
            "git.rev_parse",
            "(cwd, rev=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["rev-parse"], &["opts", "rev"]),
            "What a revision stands for.",
        ),
        Function::new(
            "git.revision",
            "(cwd, rev='HEAD', short=False, user=None, password=None, ignore_retcode=False, output_encoding=None)",
            revision,
            "The hash of a revision.",
        ),
        Function::new(
            "git.status",
            "(cwd, user=None, password=None, ignore_retcode=False, output_encoding=None)",
            status,
            "Changed files by the kind of their change.",
        ),
        Function::new(
            "git.submodule",
            "(cwd, command, opts='', git_opts='', user=None, password=None, identity=None, ignore_retcode=False, saltenv='base', output_encoding=None, **kwargs)",
            |call| run_one(call, &["submodule"], &["command", "opts"]),
            "Works on the modules of a repository.",
        ),
        Function::new(
            "git.tag",
            "(cwd, name, ref='HEAD', message=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["tag"], &["opts", "name", "ref"]),
            "Makes a tag.",
        ),
        Function::new(
            "git.version",
            "(versioninfo=False)",
            version,
            "The version of git.",
        ),
    ],
};

/// Words of an argument: a list, or text with spaces.
fn words_of(call: &Call<'_>, arg: &str) -> Vec<String> {
    match call.arg(arg) {
        Value::List(items) => items.iter().map(python::str).collect(),
        Value::Nil => Vec::new(),
        other => python::str(other)
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
    }
}

fn run_one(call: &Call<'_>, first: &[&str], args: &[&str]) -> CallResult {
    let mut words: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
    for arg in args {
        words.extend(words_of(call, arg));
    }
    Ok(Git::of(call).run(call, &words)?.into())
}

fn checkout(call: &Call<'_>) -> CallResult {
    let mut words = vec!["checkout".to_owned()];
    if call.flag("force") {
        words.push("--force".to_owned());
    }
    words.extend(words_of(call, "opts"));
    words.extend(words_of(call, "rev"));
    let ran = Git::of(call).ran(call, &words)?;
    // It speaks where errors go.
    Ok(ran.complaint().into())
}

fn clone(call: &Call<'_>) -> CallResult {
    let url = run::with_auth(
        &call.text("url"),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )?;
    let mut git = Git::of(call);
    let mut words = vec!["clone".to_owned()];
    words.extend(words_of(call, "opts"));
    words.extend(["--".to_owned(), url]);
    match call.text_opt("name") {
        Some(name) => words.push(name),
        None => {
            words.push(rooted(call));
            git.cwd = None;
        }
    }
    git.run(call, &words)?;
    Ok(true.into())
}

/// The place of `cwd` on this machine.
fn rooted(call: &Call<'_>) -> String {
    call.host().path(call.text("cwd")).display().to_string()
}

fn commit(call: &Call<'_>) -> CallResult {
    let mut words = vec!["commit".to_owned(), "-m".to_owned(), call.text("message")];
    words.extend(words_of(call, "opts"));
    if let Some(file) = call.text_opt("filename") {
        words.extend(["--".to_owned(), file]);
    }
    Ok(Git::of(call).run(call, &words)?.into())
}

/// `--global` or the repository of `cwd`.
pub(crate) fn config_words(global: bool) -> Vec<String> {
    let mut words = vec!["config".to_owned()];
    words.push(if global { "--global" } else { "--local" }.to_owned());
    words
}

fn is_global(call: &Call<'_>) -> bool {
    call.kwargs().get("global").is_some_and(Value::is_true)
}

/// All values of a key.
pub(crate) fn config_values(
    call: &Call<'_>,
    git: &Git,
    global: bool,
    key: &str,
) -> Result<Vec<String>, halite_modules::CallError> {
    let mut words = config_words(global);
    words.extend(["--get-all".to_owned(), key.to_owned()]);
    let ran = git.may_fail(call, &words)?;
    Ok(if ran.ok() {
        ran.stdout.lines().map(str::to_owned).collect()
    } else {
        Vec::new()
    })
}

fn texts(list: Vec<String>) -> Value {
    Value::List(list.into_iter().map(Value::from).collect())
}

fn config_get(call: &Call<'_>) -> CallResult {
    let git = Git::of(call);
    let values = config_values(call, &git, is_global(call), &call.text("key"))?;
    if call.kwargs().get("all").is_some_and(Value::is_true) {
        return Ok(texts(values));
    }
    Ok(values.into_iter().next().unwrap_or_default().into())
}

fn config_set(call: &Call<'_>) -> CallResult {
    let (git, global, key) = (Git::of(call), is_global(call), call.text("key"));
    let values = match call.arg("multivar") {
        Value::List(items) => items.iter().map(python::str).collect(),
        _ => vec![call.text("value")],
    };
    set_config(call, &git, global, &key, &values)?;
    Ok(texts(config_values(call, &git, global, &key)?))
}

/// Makes these the values of a key.
pub(crate) fn set_config(
    call: &Call<'_>,
    git: &Git,
    global: bool,
    key: &str,
    values: &[String],
) -> Result<(), halite_modules::CallError> {
    for (at, value) in values.iter().enumerate() {
        let mut words = config_words(global);
        words.push(if at == 0 { "--replace-all" } else { "--add" }.to_owned());
        words.extend([key.to_owned(), value.clone()]);
        git.run(call, &words)?;
    }
    Ok(())
}

fn config_unset(call: &Call<'_>) -> CallResult {
    let mut words = config_words(is_global(call));
    let all = call.kwargs().get("all").is_some_and(Value::is_true);
    words.push(if all { "--unset-all" } else { "--unset" }.to_owned());
    words.push(call.text("key"));
    words.extend(call.text_opt("value_regex"));
    Git::of(call).run(call, &words)?;
    Ok(true.into())
}

fn fetch(call: &Call<'_>) -> CallResult {
    let refspecs: Vec<String> = match call.arg("refspecs") {
        Value::List(items) => items.iter().map(python::str).collect(),
        other => python::texts(other),
    };
    let remote = call.text_opt("remote");
    let git = Git::of(call);
    let opts = words_of(call, "opts");
    Ok(git
        .fetch(
            call,
            remote.as_deref(),
            call.flag("force"),
            &refspecs,
            &opts,
        )?
        .into())
}

fn init(call: &Call<'_>) -> CallResult {
    let mut git = Git::of(call);
    let mut words = vec!["init".to_owned()];
    if call.flag("bare") {
        words.push("--bare".to_owned());
    }
    for (arg, option) in [
        ("template", "--template="),
        ("separate_git_dir", "--separate-git-dir="),
        ("shared", "--shared="),
    ] {
        if let Some(value) = call.text_opt(arg) {
            words.push(format!("{option}{value}"));
        }
    }
    words.extend(words_of(call, "opts"));
    words.push(rooted(call));
    git.cwd = None;
    Ok(git.run(call, &words)?.into())
}

fn is_worktree(call: &Call<'_>) -> CallResult {
    Ok(Git::of(call).is_worktree(call).into())
}

fn list_branches(call: &Call<'_>) -> CallResult {
    let heads = if call.flag("remote") {
        "refs/remotes/"
    } else {
        "refs/heads/"
    };
    Ok(texts(Git::of(call).refs(call, heads)?))
}

fn list_tags(call: &Call<'_>) -> CallResult {
    Ok(texts(Git::of(call).refs(call, "refs/tags/")?))
}

fn ls_remote(call: &Call<'_>) -> CallResult {
    let remote = run::with_auth(
        &call.text("remote"),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )?;
    let mut words = vec!["ls-remote".to_owned()];
    words.extend(words_of(call, "opts"));
    words.push(remote);
    words.extend(call.text_opt("ref"));
    let out = Git::of(call).run(call, &words)?;
    Ok(run::parse_refs(&out).into_iter().collect::<Map>().into())
}

fn remotes(call: &Call<'_>) -> CallResult {
    let remotes = Git::of(call).remotes(call)?;
    Ok(remotes
        .into_iter()
        .map(|(name, fetch, push)| {
            let shown = |url: String| {
                if call.flag("redact_auth") {
                    run::redacted(&url)
                } else {
                    url
                }
            };
            (
                name,
                Map::from([("fetch", shown(fetch)), ("push", shown(push))]),
            )
        })
        .collect::<Map>()
        .into())
}

fn remote_get(call: &Call<'_>) -> CallResult {
    let name = call.text("remote");
    let all = remotes(call)?;
    all.get(&name).cloned().ok_or_else(|| {
        halite_modules::CallError::command(format!(
            "Remote '{name}' not present in git checkout located at {}",
            call.text("cwd")
        ))
    })
}

fn remote_set(call: &Call<'_>) -> CallResult {
    let git = Git::of(call);
    let url = run::with_auth(
        &call.text("url"),
        call.text_opt("https_user").as_deref(),
        call.text_opt("https_pass").as_deref(),
    )?;
    git.set_remote(call, &call.text("remote"), &url)?;
    let mut kwargs = Map::new();
    kwargs.insert("remote", call.arg("remote").clone());
    call.salt(
        "git.remote_get",
        std::slice::from_ref(call.arg("cwd")),
        kwargs,
    )
}

fn revision(call: &Call<'_>) -> CallResult {
    let mut words = vec!["rev-parse".to_owned()];
    if call.flag("short") {
        words.push("--short".to_owned());
    }
    words.push(call.text("rev"));
    Ok(Git::of(call).run(call, &words)?.into())
}

fn status(call: &Call<'_>) -> CallResult {
    let words = ["status", "-z", "--porcelain"].map(str::to_owned);
    let out = Git::of(call).run(call, &words)?;
    let kinds = [
        ('M', "modified"),
        ('A', "new"),
        ('D', "deleted"),
        ('?', "untracked"),
    ];
    let mut found = Map::new();
    for entry in out.split('\0').filter(|entry| entry.len() > 3) {
        let (state, file) = entry.split_at(3);
        for (sign, kind) in kinds {
            if state.contains(sign) {
                let list = found.get_or_insert_with(Value::from(kind), || Value::List(Vec::new()));
                if let Value::List(list) = list {
                    list.push(file.into());
                }
            }
        }
    }
    Ok(found.into())
}

fn version(call: &Call<'_>) -> CallResult {
    let out = Git::default().run(call, &["--version".to_owned()])?;
    let version = out.rsplit(' ').next().unwrap_or_default().to_owned();
    if !call.flag("versioninfo") {
        return Ok(version.into());
    }
    let parts = version.split('.').map(|part| {
        part.parse::<i64>()
            .map_or_else(|_| part.into(), Value::from)
    });
    Ok(Value::List(parts.collect()))
}
