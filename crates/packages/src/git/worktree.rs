//! Further work trees of a repository.

use halite_call::{Call, CallError, CallResult, os_text, paths};
use halite_proto::{Map, Value};

use super::Git;
use super::command::words_of;
use crate::only;

pub(super) fn is_worktree(call: &Call<'_>) -> CallResult {
    Ok(Git::of(call).is_worktree(call).into())
}

/// What `git worktree list` tells of one.
#[derive(Default)]
struct Tree {
    path: String,
    head: String,
    branch: Option<String>,
    detached: bool,
}

fn parse(text: &str) -> Vec<Tree> {
    text.split("\n\n")
        .filter_map(|block| {
            let mut tree = Tree::default();
            for line in block.lines() {
                match line.split_once(' ').unwrap_or((line, "")) {
                    ("worktree", path) => path.clone_into(&mut tree.path),
                    ("HEAD", head) => head.clone_into(&mut tree.head),
                    ("branch", name) => {
                        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
                        tree.branch = Some(short.to_owned());
                    }
                    ("detached", _) => tree.detached = true,
                    _ => {}
                }
            }
            (!tree.path.is_empty()).then_some(tree)
        })
        .collect()
}

pub(super) fn list_worktrees(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["all"])?;
    let all = kwargs.get("all").is_some_and(Value::is_true);
    let wanted = call.flag("stale");
    if all && wanted {
        return Err(CallError::command(
            "'all' and 'stale' cannot both be set to True",
        ));
    }
    let out = Git::of(call).go(call, &["worktree", "list", "--porcelain"])?;
    let mut found = Map::new();
    for tree in parse(&out) {
        let stale = !std::path::Path::new(&tree.path).is_dir();
        if all || stale == wanted {
            let about = Map::from([
                ("stale", Value::from(stale)),
                ("HEAD", tree.head.into()),
                ("detached", tree.detached.into()),
                ("branch", tree.branch.map_or(Value::Nil, Value::from)),
            ]);
            found.insert(tree.path, about);
        }
    }
    Ok(found.into())
}

pub(super) fn worktree_add(call: &Call<'_>) -> CallResult {
    let kwargs = only(call, &["branch"])?;
    let branch = kwargs.get("branch").filter(|branch| branch.is_true());
    if branch.is_some() && call.flag("detach") {
        return Err(CallError::invocation(
            "Only one of 'branch' and 'detach' is allowed",
        ));
    }
    let mut words = ["worktree", "add"].map(str::to_owned).to_vec();
    if call.flag("detach") {
        words.push("--detach".to_owned());
    }
    if call.flag("force") {
        words.push("--force".to_owned());
    }
    if let Some(branch) = branch {
        let option = if call.flag("reset_branch") {
            "-B"
        } else {
            "-b"
        };
        words.extend([option.to_owned(), halite_call::python::str(branch)]);
    }
    words.extend(words_of(call, "opts"));
    words.push(call.text("worktree_path"));
    words.extend(call.text_opt("ref"));
    let ran = Git::of(call).ran(call, &words)?;
    // It speaks where errors go, and of the checkout where output goes.
    let said = [ran.stderr, ran.stdout];
    let said: Vec<String> = said.into_iter().filter(|text| !text.is_empty()).collect();
    Ok(said.join("\n").into())
}

pub(super) fn worktree_prune(call: &Call<'_>) -> CallResult {
    let mut words = ["worktree", "prune"].map(str::to_owned).to_vec();
    if call.flag("dry_run") {
        words.push("--dry-run".to_owned());
    }
    if call.flag("verbose") {
        words.push("--verbose".to_owned());
    }
    if let Some(expire) = call.text_opt("expire").filter(|text| !text.is_empty()) {
        words.extend(["--expire".to_owned(), expire]);
    }
    words.extend(words_of(call, "opts"));
    let ran = Git::of(call).ran(call, &words)?;
    Ok(ran.complaint().into())
}

pub(super) fn worktree_rm(call: &Call<'_>) -> CallResult {
    let cwd = call.text("cwd");
    let path = call.host().path(&cwd);
    if !path.exists() {
        return Err(CallError::command(format!("{cwd} does not exist")));
    }
    if !Git::of(call).is_worktree(call) {
        return Err(CallError::command(format!("{cwd} is not a git worktree")));
    }
    paths::remove_dir_all(&path).map_err(|error| {
        CallError::command(format!("Unable to remove {cwd}: {}", os_text(&error, &cwd)))
    })?;
    Ok(true.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read() {
        let trees = parse(
            "worktree /r\nHEAD aa\nbranch refs/heads/main\n\nworktree /w x\nHEAD bb\ndetached\n",
        );
        assert_eq!(trees.len(), 2);
        assert_eq!(trees[0].branch.as_deref(), Some("main"));
        assert_eq!(trees[1].path, "/w x");
        assert!(trees[1].detached);
    }
}
