//! Source trees of git: the execution module `git`.
//!
//! Invariant: a password in the address of a repository appears in no message.

pub(crate) mod command;
mod config;
mod configured;
pub(crate) mod half_clone;
pub(crate) mod half_update;
mod history;
mod password;
mod remote;
pub(crate) mod run;
mod worktree;

use command::{add, checkout, clone, commit, init, list_branches, list_tags};
use command::{revision, run_one, status, version};
use config::{config_get, config_get_regexp, config_set, config_unset};
pub(crate) use config::{config_values, config_words, set_config};
use halite_call::{Function, Module};
use history::{archive, diff, discard_local_changes, merge_base, merge_tree};
use history::{rebase, rm, symbolic_ref, tag};
use remote::{fetch, ls_remote, remote_get, remote_refs, remote_set, remotes};
pub(crate) use run::Git;
use worktree::{is_worktree, list_worktrees, worktree_add, worktree_prune, worktree_rm};

pub(crate) const MODULE: Module = Module {
    name: "git",
    functions: &[
        Function::new(
            "git.add",
            "(cwd, filename, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            add,
            "Adds files to what is committed next.",
        ),
        Function::new(
            "git.archive",
            "(cwd, output, rev='HEAD', prefix=None, git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            archive,
            "Writes the files of a revision to an archive.",
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
            "git.config_get_regex",
            "(key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            config_get_regexp,
            "The same as git.config_get_regexp.",
        ),
        Function::new(
            "git.config_get_regexp",
            "(key, value_regex=None, cwd=None, user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            config_get_regexp,
            "The values of all keys that match.",
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
            "git.diff",
            "(cwd, item1=None, item2=None, opts='', git_opts='', user=None, password=None, no_index=False, cached=False, paths=None, output_encoding=None)",
            diff,
            "What differs between revisions, the index and the work tree.",
        ),
        Function::new(
            "git.discard_local_changes",
            "(cwd, path='.', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            discard_local_changes,
            "Takes back changes of files that are not committed.",
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
            "git.list_worktrees",
            "(cwd, stale=False, user=None, password=None, output_encoding=None, **kwargs)",
            list_worktrees,
            "The work trees of a repository: those there, or those gone (stale), or all.",
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
            "git.merge_base",
            "(cwd, refs=None, octopus=False, is_ancestor=False, independent=False, fork_point=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            merge_base,
            "The best common ancestor of commits.",
        ),
        Function::new(
            "git.merge_tree",
            "(cwd, ref1, ref2, base=None, user=None, password=None, ignore_retcode=False, output_encoding=None)",
            merge_tree,
            "What a merge would change, without doing it.",
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
            "git.rebase",
            "(cwd, rev='master', opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            rebase,
            "Puts the commits of the branch on top of another revision.",
        ),
        Function::new(
            "git.remote_get",
            "(cwd, remote='origin', user=None, password=None, redact_auth=True, ignore_retcode=False, output_encoding=None)",
            remote_get,
            "The places of a remote.",
        ),
        Function::new(
            "git.remote_refs",
            "(url, heads=False, tags=False, user=None, password=None, identity=None, https_user=None, https_pass=None, ignore_retcode=False, output_encoding=None, saltenv='base', **kwargs)",
            remote_refs,
            "The references of a repository that is somewhere else.",
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
            "git.rm",
            "(cwd, filename, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            rm,
            "Removes files from the work tree and from what is committed next.",
        ),
        Function::new(
            "git.stash",
            "(cwd, action='save', opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            |call| run_one(call, &["stash"], &["action", "opts"]),
            "Puts changes aside, or takes them back.",
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
            "git.symbolic_ref",
            "(cwd, ref, value=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            symbolic_ref,
            "What a symbolic reference points at; sets it if a value is given.",
        ),
        Function::new(
            "git.tag",
            "(cwd, name, ref='HEAD', message=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            tag,
            "Makes a tag.",
        ),
        Function::new(
            "git.version",
            "(versioninfo=False)",
            version,
            "The version of git.",
        ),
        Function::new(
            "git.worktree_add",
            "(cwd, worktree_path, ref=None, reset_branch=None, force=None, detach=False, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None, **kwargs)",
            worktree_add,
            "Makes a further work tree.",
        ),
        Function::new(
            "git.worktree_prune",
            "(cwd, dry_run=False, verbose=True, expire=None, opts='', git_opts='', user=None, password=None, ignore_retcode=False, output_encoding=None)",
            worktree_prune,
            "Forgets work trees that are gone.",
        ),
        Function::new(
            "git.worktree_rm",
            "(cwd, user=None, output_encoding=None)",
            worktree_rm,
            "Deletes the directory of a further work tree.",
        ),
    ],
};
