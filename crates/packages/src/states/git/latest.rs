//! `git.latest`.

use halite_modules::{Call, CallError, CallResult, StateReturn};
use halite_proto::{Map, Value};

use super::{auth, is_repository, state};
use crate::git::Git;
use crate::git::run::{parse_refs, reason, redacted};

/// Comments in one text: sentences, if there are several.
pub(super) fn sentence(comments: &[String]) -> String {
    let mut text = comments.join(". ");
    if comments.len() > 1 {
        text.push('.');
    }
    text
}

/// Removes everything in a directory.
pub(super) fn empty_directory(path: &str) -> Result<(), CallError> {
    let failed = |error: std::io::Error| {
        CallError::command(format!("Unable to remove\n  {path}\n    {error}"))
    };
    for entry in std::fs::read_dir(path).map_err(failed)?.flatten() {
        let entry = entry.path();
        let removed = if entry.is_dir() && !entry.is_symlink() {
            std::fs::remove_dir_all(&entry)
        } else {
            std::fs::remove_file(&entry)
        };
        removed.map_err(failed)?;
    }
    Ok(())
}

/// What the wanted revision is on the remote side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Remote {
    hash: Option<String>,
    is_branch: bool,
    is_tag: bool,
    /// `origin/main`, for branches.
    upstream: Option<String>,
    /// How messages name it.
    place: String,
    tags: Vec<String>,
    has_head: bool,
    default_branch: Option<String>,
}

fn short(hash: &str) -> &str {
    hash.get(..7).unwrap_or(hash)
}

fn find(refs: &[(String, String)], rev: &str, remote: &str) -> Remote {
    let get = |name: &str| {
        refs.iter()
            .find(|(known, _)| known == name)
            .map(|(_, hash)| hash.clone())
    };
    let tags = refs
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("refs/tags/"))
        .filter(|name| !name.ends_with("^{}"))
        .map(str::to_owned)
        .collect();
    let mut found = Remote {
        tags,
        has_head: get("HEAD").is_some(),
        default_branch: get("HEAD").and_then(|head| {
            let mut heads = refs.iter().filter(|(_, hash)| *hash == head);
            heads.find_map(|(name, _)| name.strip_prefix("refs/heads/").map(str::to_owned))
        }),
        ..Remote::default()
    };
    if rev == "HEAD" {
        found.hash = get("HEAD");
        let hash = found.hash.clone().unwrap_or_default();
        found.place = format!("remote HEAD ({})", short(&hash));
    } else if let Some(hash) = get(&format!("refs/heads/{rev}")) {
        let upstream = format!("{remote}/{rev}");
        found.place = format!("{upstream} ({})", short(&hash));
        found.is_branch = true;
        found.upstream = Some(upstream);
        found.hash = Some(hash);
    } else if let Some(hash) =
        get(&format!("refs/tags/{rev}^{{}}")).or_else(|| get(&format!("refs/tags/{rev}")))
    {
        found.place = format!("{rev} ({})", short(&hash));
        found.is_tag = true;
        found.hash = Some(hash);
    } else if rev.len() <= 40 && rev.chars().all(|c| c.is_ascii_hexdigit()) {
        let hash = rev.to_lowercase();
        short(&hash).clone_into(&mut found.place);
        found.hash = Some(hash);
    }
    found
}

/// The request with what was found out about it.
struct Job<'c, 'a> {
    call: &'c Call<'a>,
    git: Git,
    name: String,
    url: String,
    target: String,
    rev: String,
    remote_name: String,
    branch: Option<String>,
    bare: bool,
    mirror: bool,
    remote: Remote,
}

/// Why nothing more is done, with the comments so far.
enum Stop {
    Said(String),
    Error(CallError),
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Command(_) => Self::Said(reason(&error)),
            other => Self::Error(other),
        }
    }
}

pub(super) fn latest(call: &Call<'_>) -> CallResult {
    let mut state = state(call);
    let mut comments = Vec::new();
    match prepare(call).and_then(|job| job.run(&mut state, &mut comments)) {
        Ok(done) => Ok(done.into()),
        Err(Stop::Said(mut text)) => {
            if !comments.is_empty() {
                text.push_str(&format!(
                    "\n\nChanges already made: {}",
                    sentence(&comments)
                ));
            }
            Ok(state.failed(text).into())
        }
        Err(Stop::Error(error)) => Err(error),
    }
}

fn prepare<'c, 'a>(call: &'c Call<'a>) -> Result<Job<'c, 'a>, Stop> {
    let said = |text: &str| Stop::Said(text.to_owned());
    let name = call.text("name");
    let rev = call.text("rev");
    if !call.arg("rev").is_true() {
        return Err(Stop::Said(format!(
            "'{rev}' is not a valid value for the 'rev' argument"
        )));
    }
    let target = call.text("target");
    if !target.starts_with('/') {
        return Err(Stop::Said(format!(
            "target '{target}' is not an absolute path"
        )));
    }
    let real = call.host().path(&target);
    if real.is_file() {
        return Err(Stop::Said(format!(
            "Target '{target}' exists and is a regular file, cannot proceed"
        )));
    }
    let mut git = Git::of(call);
    git.cwd = None;
    if let Some(user) = &git.user {
        let known = call.salt("user.info", &[user.as_str().into()], Map::new())?;
        if !known.is_true() {
            return Err(Stop::Said(format!("user '{user}' does not exist")));
        }
    }
    for identity in &mut git.identity {
        if identity.starts_with("salt://") {
            let cached = call.salt("cp.cache_file", &[identity.as_str().into()], Map::new())?;
            if !cached.is_true() {
                return Err(Stop::Said(format!("identity '{identity}' does not exist.")));
            }
            *identity = halite_modules::python::str(&cached);
        }
        if !identity.starts_with('/') && !identity.starts_with('~') {
            return Err(Stop::Said(format!(
                "identity '{identity}' is not an absolute path"
            )));
        }
    }
    let mirror = call.flag("mirror");
    let bare = mirror || call.flag("bare");
    if rev != "HEAD" && bare {
        return Err(said(
            "'rev' is not compatible with the 'mirror' and 'bare' arguments",
        ));
    }
    let url = auth(call, &name).map_err(|error| Stop::Said(error.to_string()))?;
    let out = git
        .go(call, &["ls-remote", &url])
        .map_err(|error| Stop::Said(format!("Failed to check remote refs: {}", reason(&error))))?;
    let remote_name = call.text("remote");
    let remote = if bare {
        Remote::default()
    } else {
        find(&parse_refs(&out), &rev, &remote_name)
    };
    if !call.arg("depth").is_nil() && !remote.is_branch && !remote.is_tag {
        return Err(said(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository",
        ));
    }
    if remote.hash.is_none() && !bare && rev != "HEAD" {
        return Err(Stop::Said(format!(
            "No revision matching '{rev}' exists in the remote repository"
        )));
    }
    Ok(Job {
        call,
        git,
        name,
        url,
        target,
        rev,
        remote_name,
        branch: call.text_opt("branch"),
        bare,
        mirror,
        remote,
    })
}

impl Job<'_, '_> {
    fn path(&self) -> String {
        self.call.host().path(&self.target).display().to_string()
    }

    fn run(
        mut self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let there = if self.bare {
            self.call.host().path(&self.target).join("refs").is_dir()
        } else {
            is_repository(self.call, &self.target)
        };
        if there {
            self.git.cwd = Some(self.target.clone());
            self.update(state, comments)
        } else {
            self.clone_it(state, comments)
        }
    }

    /// Whether two revisions are one; a hash may be short.
    fn equal(&self, local: Option<&str>) -> bool {
        match (local, self.remote.hash.as_deref()) {
            (Some(local), Some(remote)) => local.starts_with(remote),
            (None, None) => true,
            _ => false,
        }
    }

    fn up_to_date(&self, state: &StateReturn, comments: &[String], dirty: bool) -> StateReturn {
        let mut text = format!("Repository {} is up-to-date", self.target);
        if dirty {
            text.push_str(
                ", but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes.",
            );
        }
        if !comments.is_empty() {
            let would = if self.call.is_test() {
                "that would be "
            } else {
                ""
            };
            text.push_str(&format!("\n\nChanges {would}made: {}", sentence(comments)));
        }
        state.clone().ok(text)
    }

    fn set_revision(&self, state: &mut StateReturn, old: Option<&str>, new: &str) {
        let old = old.map(str::to_owned);
        let change = Map::from([("old", Value::from(old)), ("new", new.into())]);
        state.changes.insert("revision", change);
    }

    fn submodules(&self) -> Result<(), Stop> {
        if self.call.flag("submodules") {
            let words = ["submodule", "update", "--init", "--recursive"];
            self.git.go(self.call, &words).map_err(|error| {
                Stop::Said(format!("Failed to update submodules: {}", reason(&error)))
            })?;
        }
        Ok(())
    }

    fn clone_it(
        &mut self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let (call, path) = (self.call, self.path());
        let new = format!("{} => {}", self.name, self.target);
        let filled = std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some());
        if filled {
            if !call.flag("force_clone") {
                return Err(Stop::Said(format!(
                    "Target '{}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository",
                    self.target
                )));
            }
            state.changes.insert("forced clone", true);
            if call.is_test() {
                state.changes.insert("new", new);
                return Ok(state.clone().pending(format!(
                    "Target directory {0} exists. Since force_clone=True, the contents of {0} would be deleted, and {1} would be cloned into this directory.",
                    self.target, self.name
                )));
            }
            empty_directory(&path)?;
        }
        if call.is_test() {
            state.changes.insert("new", new);
            return Ok(state.clone().pending(format!(
                "Repository {} would be cloned to {}",
                self.name, self.target
            )));
        }
        let depth = call.text("depth");
        let mut words = vec!["clone"];
        if self.mirror {
            words.push("--mirror");
        } else if self.bare {
            words.push("--bare");
        }
        if self.remote_name != "origin" {
            words.extend(["--origin", &self.remote_name]);
        }
        if !call.arg("depth").is_nil() {
            words.extend(["--depth", &depth, "--branch", &self.rev]);
        }
        words.extend(["--", &self.url, &path]);
        if let Err(error) = self.git.go(call, &words) {
            return Err(Stop::Said(format!("Clone failed: {}", reason(&error))));
        }
        self.git.cwd = Some(self.target.clone());
        state.changes.insert("new", new);
        let kind = if self.mirror {
            " as mirror"
        } else if self.bare {
            " as bare repository"
        } else {
            ""
        };
        comments.push(format!("{} cloned to {}{kind}", self.name, self.target));
        if !self.bare && self.remote.hash.is_some() {
            self.check_out_clone(comments)?;
            self.submodules()?;
        }
        let now = self.git.commit_of(call, "HEAD")?;
        if let Some(now) = now {
            self.set_revision(state, None, &now);
        }
        Ok(state.clone().ok(sentence(comments)))
    }

    /// Brings a fresh clone to the wanted revision.
    fn check_out_clone(&self, comments: &mut Vec<String>) -> Result<(), Stop> {
        let (call, git) = (self.call, &self.git);
        let hash = self.remote.hash.clone().unwrap_or_default();
        if let Some(branch) = &self.branch
            && !git.refs(call, "refs/heads/")?.contains(branch)
        {
            let start = match (&self.remote.upstream, self.rev.as_str()) {
                (_, "HEAD") => &hash,
                (Some(upstream), _) => upstream,
                (None, rev) => &rev.to_owned(),
            };
            git.go(call, &["checkout", "-b", branch, start])?;
            comments.push(format!(
                "Branch '{branch}' checked out, with {} as a starting point",
                self.remote.place
            ));
        }
        let local_branch = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let local = git.commit_of(call, "HEAD")?;
        if local_branch.is_none() && local.is_none() && !self.remote.has_head {
            return Err(Stop::Said(
                "Remote HEAD refers to a ref that does not exist. This can happen when the default branch on the remote repository is renamed or deleted. If you are unable to fix the remote repository, you can work around this by setting the 'branch' argument (which will ensure that the named branch is created if it does not already exist)."
                    .to_owned(),
            ));
        }
        if !self.equal(local.as_deref()) {
            git.go(call, &["reset", "--hard", &hash])?;
            comments.push(format!("Repository was reset to {}", self.remote.place));
        }
        if let Some(action) = self.track(local_branch.as_deref())? {
            comments.push(action);
        }
        Ok(())
    }

    /// Sets what the branch tracks, if that is something else.
    fn track(&self, local_branch: Option<&str>) -> Result<Option<String>, Stop> {
        let Some((wanted, what)) = self.tracking(local_branch)? else {
            return Ok(None);
        };
        match wanted {
            Some(upstream) => {
                let option = format!("--set-upstream-to={upstream}");
                self.git.go(self.call, &["branch", &option])?;
            }
            None => drop(self.git.go(self.call, &["branch", "--unset-upstream"])?),
        }
        Ok(Some(format!("Tracking branch was {what}")))
    }

    /// What the branch is to track, and how that is told.
    fn tracking(
        &self,
        local_branch: Option<&str>,
    ) -> Result<Option<(Option<String>, String)>, Stop> {
        if self.rev == "HEAD" {
            return Ok(None);
        }
        let upstream = match local_branch {
            None => None,
            Some(branch) => {
                let rev = format!("{branch}@{{upstream}}");
                self.git
                    .ask(self.call, &["rev-parse", "--abbrev-ref", &rev])?
            }
        };
        Ok(match (&upstream, &self.remote.upstream) {
            (None, Some(wanted)) => Some((Some(wanted.clone()), format!("set to {wanted}"))),
            (Some(_), None) => Some((None, "unset".to_owned())),
            (Some(now), Some(wanted)) if now != wanted => {
                Some((Some(wanted.clone()), format!("updated to {wanted}")))
            }
            _ => None,
        })
    }

    fn update(
        &self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        let (call, git) = (self.call, &self.git);
        if self.bare {
            return self.update_bare(state, comments);
        }
        let local = git.commit_of(call, "HEAD")?;
        let local_branch = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        let Some(hash) = self.remote.hash.clone() else {
            if local.is_some() {
                return Err(Stop::Said(
                    "Remote repository is empty, cannot update from a non-empty to an empty repository".to_owned(),
                ));
            }
            return Ok(self.up_to_date(state, comments, false));
        };
        let branches = git.refs(call, "refs/heads/")?;
        let other_branch = self
            .branch
            .as_ref()
            .filter(|branch| Some(*branch) != local_branch.as_ref());
        let base = match other_branch {
            Some(branch) if branches.contains(branch) => git.commit_of(call, branch)?,
            Some(_) => Some(hash.clone()),
            None => local.clone(),
        };
        let base_branch = match other_branch {
            Some(branch) if branches.contains(branch) => Some(branch.clone()),
            _ => local_branch.clone(),
        };
        let matches = self.equal(local.as_deref());
        let dirty = git.ask(call, &["diff", "--quiet", "HEAD"])?.is_none() && local.is_some();
        let reset = call.arg("force_reset");
        let reset_remote = reset.as_str() == Some("remote-changes");
        let forced = reset.is_true();
        if dirty && matches {
            if reset != &Value::Bool(true) {
                return Ok(self.up_to_date(state, comments, true));
            }
            if call.is_test() {
                state.changes.insert("forced update", true);
                return Ok(state.clone().pending(format!(
                    "{} is up-to-date, but with uncommitted changes. Since 'force_reset' is set to True, these local changes would be reset. To only reset when there are changes in the remote repository, set 'force_reset' to 'remote-changes'.",
                    self.target
                )));
            }
        }
        let mut has_remote = self.has_remote(&hash)?;
        let update_head = call.flag("update_head");
        let left_alone = !matches && !update_head && other_branch.is_none();
        let head_text = |state: &StateReturn| {
            let mut place = self.remote.place.clone();
            if self.rev == "HEAD" {
                place = place.to_lowercase().replacen("remote", "Remote", 1);
            }
            state.clone().ok(format!(
                "{place} is already present and local HEAD ({}) does not match, but update_head=False. HEAD has not been updated locally.",
                short(local.as_deref().unwrap_or_default())
            ))
        };
        if has_remote && left_alone {
            return Ok(head_text(state));
        }
        let mut forward = if dirty && !reset_remote {
            Some(false)
        } else {
            None
        };
        let ancestor = |base: &Option<String>| -> Result<bool, CallError> {
            match base {
                None => Ok(true),
                Some(base) => Ok(git
                    .ask(call, &["merge-base", "--is-ancestor", base, &hash])?
                    .is_some()),
            }
        };
        if has_remote && forward != Some(false) {
            forward = Some(ancestor(&base)?);
        }
        if forward == Some(false) && !forced {
            return Err(self.not_forward(base.as_deref(), dirty, local_branch.as_deref()));
        }
        let now = git
            .remotes(call)?
            .into_iter()
            .find(|(name, ..)| *name == self.remote_name)
            .map(|(_, fetch, _)| fetch);
        if call.is_test() {
            return self.predict(
                state,
                &Seen {
                    local: local.as_deref(),
                    base_branch: base_branch.as_deref(),
                    other_branch: other_branch.map(String::as_str),
                    branch_exists: other_branch.is_some_and(|branch| branches.contains(branch)),
                    matches,
                    has_remote,
                    forward,
                    forced,
                    old_url: now.as_deref(),
                },
            );
        }
        if now.as_ref() != Some(&self.url) {
            git.set_remote(call, &self.remote_name, &self.url)?;
            match &now {
                None => {
                    comments.push(format!(
                        "Remote '{}' set to {}",
                        self.remote_name,
                        redacted(&self.url)
                    ));
                    state
                        .changes
                        .insert("new", format!("{} => {}", self.name, self.remote_name));
                }
                Some(old) => comments.push(format!(
                    "Remote '{}' changed from {} to {}",
                    self.remote_name,
                    redacted(old),
                    redacted(&self.url)
                )),
            }
        }
        if self.sync_tags(state, comments)? {
            has_remote = false;
        }
        if !has_remote {
            self.fetch(comments)?;
            if git.commit_of(call, &hash)?.is_none() {
                return Err(Stop::Said(format!(
                    "Fetch did not successfully retrieve rev '{}' from {}: unknown revision",
                    self.rev, self.name
                )));
            }
            if left_alone {
                return Ok(head_text(state));
            }
            forward = Some(ancestor(&base)?);
            if !forced && (forward == Some(false) || (forward == Some(true) && dirty && !matches)) {
                return Err(self.not_forward(base.as_deref(), dirty, local_branch.as_deref()));
            }
        }
        self.switch(other_branch, &branches, dirty, comments)?;
        if forward == Some(false) {
            git.go(call, &["reset", "--hard", &hash])?;
            state.changes.insert("forced update", true);
            if dirty {
                comments.push("Uncommitted changes were discarded".to_owned());
            }
            comments.push(format!(
                "Repository was hard-reset to {}",
                self.remote.place
            ));
        } else if dirty && forced {
            git.go(call, &["reset", "--hard", "HEAD"])?;
            comments.push("Uncommitted changes were discarded".to_owned());
        }
        let current = git.ask(call, &["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        if current.is_some()
            && let Some(action) = self.track(current.as_deref())?
        {
            comments.push(action);
        }
        if forward == Some(true) && !self.equal(base.as_deref()) {
            self.go_forward(&hash, current.is_some(), comments)?;
        }
        self.submodules()?;
        let now = git.commit_of(call, "HEAD")?;
        if !self.equal(now.as_deref()) {
            return Err(Stop::Said("Failed to update repository".to_owned()));
        }
        if local == now {
            return Ok(self.up_to_date(state, comments, false));
        }
        self.set_revision(state, local.as_deref(), &now.unwrap_or_default());
        Ok(state.clone().ok(sentence(comments)))
    }

    fn go_forward(
        &self,
        hash: &str,
        on_branch: bool,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        if self.remote.upstream.is_none() && self.rev != "HEAD" {
            self.git.go(self.call, &["reset", "--hard", &self.rev])?;
            comments.push(format!(
                "Repository was reset to {} (fast-forward)",
                self.rev
            ));
            return Ok(());
        }
        if !on_branch {
            return Err(Stop::Said(
                "Unable to fast-forward, HEAD is detached".to_owned(),
            ));
        }
        self.git.go(self.call, &["merge", "--ff-only", hash])?;
        comments.push(format!(
            "Repository was fast-forwarded to {}",
            self.remote.place
        ));
        Ok(())
    }

    fn has_remote(&self, hash: &str) -> Result<bool, Stop> {
        let known = self.git.commit_of(self.call, hash)?.is_some();
        Ok(match &self.remote.upstream {
            _ if !known => false,
            Some(upstream) => self.git.commit_of(self.call, upstream)?.as_deref() == Some(hash),
            None if self.remote.is_tag => {
                let local = self
                    .git
                    .commit_of(self.call, &format!("refs/tags/{}", self.rev))?;
                if local.as_deref() != Some(hash)
                    && local.is_some()
                    && !self.call.flag("force_reset")
                {
                    return Err(Stop::Said(format!(
                        "'{}' is a tag, but the remote SHA1 for this tag ({}) doesn't match the local SHA1 ({}). Set 'force_reset' to True to force this update.",
                        self.rev,
                        short(hash),
                        short(local.as_deref().unwrap_or_default())
                    )));
                }
                local.as_deref() == Some(hash)
            }
            None => true,
        })
    }

    fn not_forward(&self, base: Option<&str>, dirty: bool, local_branch: Option<&str>) -> Stop {
        let local = local_branch.unwrap_or("None");
        let advice = match (&self.branch, self.rev.as_str()) {
            (Some(_), _) => String::new(),
            (None, "HEAD") => match self.remote.default_branch.as_deref() {
                Some(default) if default != local => format!(
                    " The default remote branch ({default}) differs from the local branch ({local}). This could be caused by changing the default remote branch, or if the local branch was manually changed. Rather than forcing an update, it may be advisable to set the 'branch' argument to '{default}' instead. To ensure that this state follows the '{default}' branch instead of the remote HEAD, set the 'rev' argument to '{default}'."
                ),
                _ => String::new(),
            },
            (None, rev) if rev != local => format!(
                " The desired rev ({rev}) differs from the name of the local branch ({local}), if the desired rev is a branch name then a forced update could possibly be avoided by setting the 'branch' argument to '{rev}' instead."
            ),
            _ => String::new(),
        };
        let post = short(self.remote.hash.as_deref().unwrap_or_default()).to_owned();
        let pre = short(base.unwrap_or_default()).to_owned();
        let range = if dirty && pre != post {
            format!("from {pre} to {post}")
        } else {
            format!("to {post}")
        };
        let after = match &self.branch {
            Some(branch) if Some(branch.as_str()) != local_branch => {
                format!(" (after checking out local branch '{branch}')")
            }
            _ => String::new(),
        };
        let (why, or, end) = if dirty {
            (
                "there are uncommitted changes",
                " (or 'remote-changes')",
                " and discard these changes",
            )
        } else {
            ("this is not a fast-forward merge", "", "")
        };
        Stop::Said(format!(
            "Repository would be updated {range}{after}, but {why}. Set 'force_reset' to True{or} to force this update{end}.{advice}"
        ))
    }

    /// Fetches new tags and drops those that are gone; whether tags differ.
    fn sync_tags(&self, state: &mut StateReturn, comments: &mut Vec<String>) -> Result<bool, Stop> {
        let local = self.git.refs(self.call, "refs/tags/")?;
        let missing = |from: &[String], other: &[String]| -> Vec<String> {
            let mut list: Vec<String> = from
                .iter()
                .filter(|tag| !other.contains(tag))
                .cloned()
                .collect();
            list.sort();
            list
        };
        let (new, gone) = (
            missing(&self.remote.tags, &local),
            missing(&local, &self.remote.tags),
        );
        let list =
            |tags: &[String]| Value::List(tags.iter().map(|tag| tag.as_str().into()).collect());
        if !new.is_empty() {
            state.changes.insert("new_tags", list(&new));
        }
        if !gone.is_empty() && self.call.flag("sync_tags") {
            for tag in &gone {
                self.git.go(self.call, &["tag", "-d", tag])?;
            }
            state.changes.insert("deleted_tags", list(&gone));
            comments.push(format!(
                "The following tags were removed from the local checkout: {}",
                gone.join(", ")
            ));
        }
        Ok(!new.is_empty() || !gone.is_empty())
    }

    fn fetch(&self, comments: &mut Vec<String>) -> Result<bool, Stop> {
        let (branch, tag) = (
            self.call.text("refspec_branch"),
            self.call.text("refspec_tag"),
        );
        let mut refspecs = Vec::new();
        if self.call.flag("fetch_tags") {
            refspecs.push(format!(
                "refs/heads/{branch}:refs/remotes/{}/{branch}",
                self.remote_name
            ));
            refspecs.push(format!("+refs/tags/{tag}:refs/tags/{tag}"));
        }
        let force = self.call.flag("force_fetch");
        let fetched = self
            .git
            .fetch(self.call, Some(&self.remote_name), force, &refspecs, &[]);
        let changes = fetched.map_err(|error| {
            let why = reason(&error);
            let hint = "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able to fast-forward. Output of the fetch command follows:\n\n";
            Stop::Said(format!("{hint}{why}"))
        })?;
        if !changes.is_empty() && !self.bare {
            comments.push(format!(
                "{} was fetched, resulting in updated refs",
                self.name
            ));
        }
        Ok(!changes.is_empty())
    }

    fn switch(
        &self,
        other: Option<&String>,
        branches: &[String],
        dirty: bool,
        comments: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let Some(branch) = other else {
            return Ok(());
        };
        let force = self.call.flag("force_checkout");
        if dirty && !force {
            return Err(Stop::Said(format!(
                "Local branch '{branch}' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed."
            )));
        }
        let mut words = vec!["checkout"];
        if force {
            words.push("--force");
        }
        if branches.contains(branch) {
            words.push(branch);
            self.git.go(self.call, &words)?;
            comments.push(format!("'{branch}' was checked out"));
            return Ok(());
        }
        let hash = self.remote.hash.clone().unwrap_or_default();
        let start = if self.rev == "HEAD" {
            &hash
        } else {
            self.remote.upstream.as_ref().unwrap_or(&self.rev)
        };
        words.extend(["-b", branch, start]);
        self.git.go(self.call, &words)?;
        comments.push(format!(
            "New branch '{branch}' was checked out, with {} as a starting point",
            self.remote.place
        ));
        Ok(())
    }

    fn update_bare(
        &self,
        state: &mut StateReturn,
        comments: &mut Vec<String>,
    ) -> Result<StateReturn, Stop> {
        if self.call.is_test() {
            let text = format!("Bare repository at {} would be fetched", self.target);
            return Ok(self.up_to_date(state, &[text], false));
        }
        let before = self.git.commit_of(self.call, "HEAD")?;
        let changed = self.fetch(comments)?;
        let more = if changed {
            ", resulting in updated refs"
        } else {
            ""
        };
        comments.push(format!(
            "Bare repository at {} was fetched{more}",
            self.target
        ));
        let now = self.git.commit_of(self.call, "HEAD")?;
        if before == now {
            return Ok(self.up_to_date(state, comments, false));
        }
        self.set_revision(state, before.as_deref(), &now.unwrap_or_default());
        Ok(state.clone().ok(sentence(comments)))
    }

    fn predict(&self, state: &mut StateReturn, seen: &Seen<'_>) -> Result<StateReturn, Stop> {
        let mut actions = Vec::new();
        let hash = self.remote.hash.clone().unwrap_or_default();
        let update_head = self.call.flag("update_head");
        if seen.old_url != Some(&self.url) {
            let old = seen
                .old_url
                .map(redacted)
                .unwrap_or_else(|| "None".to_owned());
            actions.push(format!(
                "Remote '{}' would be changed from {old} to {}",
                self.remote_name,
                redacted(&self.url)
            ));
        }
        if !seen.has_remote {
            actions.push(format!("Remote '{}' would be fetched", self.remote_name));
        }
        if !seen.matches && (update_head || seen.other_branch.is_some()) {
            self.set_revision(state, seen.local, &hash);
        }
        let done = match seen.forward {
            Some(true) => "fast-forwarded",
            Some(false) => "hard-reset",
            None if seen.forced && seen.has_remote => "hard-reset",
            None => "updated",
        };
        let place = &self.remote.place;
        match seen.other_branch {
            Some(branch) if seen.branch_exists => actions.push(format!(
                "Branch '{branch}' would be checked out and {done} to {}",
                short(&hash)
            )),
            Some(branch) => {
                actions.push(format!(
                    "New branch '{branch}' would be checked out, with {place} as a starting point"
                ));
                actions.extend(
                    self.remote
                        .upstream
                        .iter()
                        .map(|upstream| format!("Tracking branch would be set to {upstream}")),
                );
            }
            None if seen.matches => {}
            None if update_head => actions.push(format!(
                "Repository would be {done} from {} to {}",
                short(seen.local.unwrap_or_default()),
                short(&hash)
            )),
            None => actions.push(format!(
                "Local HEAD ({}) does not match {place} but update_head=False, HEAD would not be updated locally",
                short(seen.local.unwrap_or_default())
            )),
        }
        if let Some((_, what)) = self.tracking(seen.base_branch)? {
            actions.push(format!("Tracking branch would be {what}"));
        }
        if seen.forward == Some(false) && !seen.matches {
            state.changes.insert("forced update", true);
        }
        if !state.changes.is_empty() {
            return Ok(state.clone().pending(sentence(&actions)));
        }
        Ok(self.up_to_date(state, &actions, false))
    }
}

/// What test mode looks at.
struct Seen<'s> {
    local: Option<&'s str>,
    base_branch: Option<&'s str>,
    other_branch: Option<&'s str>,
    branch_exists: bool,
    matches: bool,
    has_remote: bool,
    forward: Option<bool>,
    forced: bool,
    old_url: Option<&'s str>,
}
