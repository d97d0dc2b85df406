//! Reading the options of a remote: those of all remotes, those of this one,
//! and those of its environments.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use halite_crypto::{HashType, Secret};
use halite_proto::{Map, Value, python};
use halite_target::Exposure;

use super::lookup::{Options, named, repacked, text, wrong};
use super::{Auth, PerSaltenv, RefType, Remote, RemoteUrl, Role};
use crate::OptionsError;

/// Options of a single remote that `gitfs_*` has as well.
const GITFS: &[&str] = &[
    "base",
    "depth",
    "disable_saltenv_mapping",
    "env_blacklist",
    "env_whitelist",
    "fallback",
    "mountpoint",
    "proxy",
    "ref_types",
    "refspecs",
    "root",
    "saltenv_blacklist",
    "saltenv_whitelist",
    "ssl_verify",
    "update_interval",
    "verify_signatures",
];

/// Options of a single remote that `git_pillar_*` has as well.
const GIT_PILLAR: &[&str] = &[
    "base",
    "depth",
    "disable_saltenv_mapping",
    "env",
    "fallback",
    "proxy",
    "ref_types",
    "refspecs",
    "root",
    "ssl_verify",
    "verify_signatures",
];

const AUTH: &[&str] = &[
    "insecure_auth",
    "passphrase",
    "password",
    "privkey",
    "pubkey",
    "user",
];

/// Options that only a single remote has.
const ALONE_GITFS: &[&str] = &["all_saltenvs", "name", "saltenv"];
const ALONE_GIT_PILLAR: &[&str] = &["all_saltenvs", "mountpoint", "name"];

/// All branches and tags.
pub(crate) const REFSPECS: [&str; 2] = [
    "+refs/heads/*:refs/remotes/origin/*",
    "+refs/tags/*:refs/tags/*",
];

const UPDATE_INTERVAL_S: i64 = 60;

/// Reads an entry of a list of remotes.
pub(super) fn remote(role: Role, opts: &Map, entry: &Value) -> Result<Remote, OptionsError> {
    let (id, own) = match entry {
        Value::Map(map) if map.len() == 1 => {
            let (id, own) = map.iter().next().unwrap_or((&Value::Nil, &Value::Nil));
            (id, Some(own))
        }
        Value::Str(_) => (entry, None),
        _ => {
            let why = "a remote is an address, or a map of one address to a list of options";
            return Err(wrong("remotes", None, why));
        }
    };
    let Some(id) = id.as_str() else {
        return Err(wrong("remotes", None, "an address is text"));
    };
    let (branch, address) = match (role, id.split_once(char::is_whitespace)) {
        (Role::GitPillar, Some((branch, address))) => (Some(branch), address.trim_start()),
        _ => (None, id),
    };
    let url = RemoteUrl::parse(address).map_err(|why| wrong("remotes", None, why))?;
    let shown = url.to_string();
    let own = match own {
        Some(own) => own_options(role, own).map_err(|error| named(error, &shown))?,
        None => Map::new(),
    };
    let options = Options { role, opts, own };
    options
        .read(id, branch, url)
        .map_err(|error| named(error, &shown))
}

/// Salt fetches by one of three libraries. Here it is always the git program,
/// whichever of them is named.
pub(super) fn check_provider(role: Role, opts: &Map) -> Result<(), OptionsError> {
    let name = format!("{}_{}", role.name(), "provider");
    let is_one = match opts.get(name.as_str()) {
        None | Some(Value::Nil) => true,
        Some(value) => value.as_str().is_some_and(|text| {
            let text = text.to_lowercase();
            ["", "gitcli", "gitpython", "pygit2"].contains(&text.as_str())
        }),
    };
    match is_one {
        true => Ok(()),
        false => Err(wrong(&name, None, "it is pygit2, gitpython or gitcli")),
    }
}

/// Options that one remote may have as well as all of them, and those that only
/// one may have.
pub(super) fn options_of(role: Role) -> (Vec<&'static str>, &'static [&'static str]) {
    let (known, alone) = match role {
        Role::Gitfs => (GITFS, ALONE_GITFS),
        Role::GitPillar => (GIT_PILLAR, ALONE_GIT_PILLAR),
    };
    ([known, AUTH].concat(), alone)
}

/// The options of a single remote, which all have to be known.
fn own_options(role: Role, value: &Value) -> Result<Map, OptionsError> {
    let own = repacked("remotes", value)?;
    if own.is_empty() {
        let why = "no options follow the colon behind the address";
        return Err(wrong("remotes", None, why));
    }
    let (of_both, alone) = options_of(role);
    for name in own.keys() {
        let is_known = |known: &&str| name.as_str() == Some(*known);
        if !of_both.iter().chain(alone).any(is_known) {
            let mut all = [of_both, alone.to_vec()].concat();
            all.sort_unstable();
            let why = format!("no remote has this option; it may have: {}", all.join(", "));
            return Err(wrong(&python::str(name), None, why));
        }
    }
    Ok(own)
}

impl Options<'_> {
    fn read(&self, id: &str, branch: Option<&str>, url: RemoteUrl) -> Result<Remote, OptionsError> {
        let refused = |(option, why): (&str, String)| wrong(option, None, why);
        let auth = self.auth()?.for_url(&url).map_err(refused)?;
        let depth = self.number("depth", 0)?;
        let mut remote = Remote {
            role: self.role,
            id: id.to_owned(),
            url,
            branch: match branch {
                Some(branch) => branch.to_owned(),
                None => self.text("branch")?.unwrap_or_else(|| "master".to_owned()),
            },
            name: self.name()?,
            base: self.text("base")?.unwrap_or_else(|| "master".to_owned()),
            fallback: self.text("fallback")?,
            ref_types: self.ref_types()?,
            refspecs: self.refspecs()?,
            mountpoint: mountpoint(self.text("mountpoint")?),
            root: root("root", self.text("root")?)?,
            env: self.text("env")?,
            all_saltenvs: self.text("all_saltenvs")?,
            disable_saltenv_mapping: self.flag("disable_saltenv_mapping", false)?,
            exposed: Exposure::new(
                &self.either("saltenv_whitelist", "env_whitelist")?,
                &self.either("saltenv_blacklist", "env_blacklist")?,
            ),
            saltenv: BTreeMap::new(),
            ssl_verify: self.flag("ssl_verify", true)?,
            proxy: self.text("proxy")?,
            depth: (depth > 0).then_some(depth),
            update_interval: Duration::from_secs(
                self.number("update_interval", UPDATE_INTERVAL_S)?.max(1),
            ),
            verify_signatures: self.signers()?,
            auth,
            hash_type: self.hash_type(),
        };
        self.add_saltenvs(&mut remote)?;
        Ok(remote)
    }

    fn name(&self) -> Result<Option<String>, OptionsError> {
        let Some(value) = self.own.get("name") else {
            return Ok(None);
        };
        let name = text("name", value)?;
        let is_plain = |c: char| c.is_alphanumeric() || "-_.+=@ ".contains(c);
        // Salt keeps its own things under these names.
        let reserved = ["hash", "links", "refs", "work"].contains(&name.as_str());
        if reserved || name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            let why = "it is the name of a directory: letters, digits and -_.+=@, without a dot \
                       in front, and none of hash, links, refs, work";
            return Err(wrong("name", None, why));
        }
        Ok(Some(name))
    }

    fn ref_types(&self) -> Result<Vec<RefType>, OptionsError> {
        let names = self.texts("ref_types")?;
        if self.value("ref_types").is_none() {
            return Ok(vec![RefType::Branch, RefType::Tag, RefType::Sha]);
        }
        let kind = |name: &String| match name.to_lowercase().as_str() {
            "branch" => Ok(RefType::Branch),
            "tag" => Ok(RefType::Tag),
            "sha" => Ok(RefType::Sha),
            _ => Err(wrong("ref_types", None, "each is branch, tag or sha")),
        };
        names.iter().map(kind).collect()
    }

    fn refspecs(&self) -> Result<Vec<String>, OptionsError> {
        let specs = self.texts("refspecs")?;
        if specs.is_empty() {
            return Ok(REFSPECS.map(str::to_owned).to_vec());
        }
        for spec in &specs {
            let is_plain = !spec.contains(|c: char| c.is_control() || c == ' ');
            let to = spec.split_once(':').map(|(_, to)| to);
            let is_kept = to.is_some_and(|to| {
                to.starts_with("refs/remotes/origin/") || to.starts_with("refs/tags/")
            });
            if !is_plain || !is_kept || spec.starts_with(['-', '^']) {
                let why = "each is FROM:TO, where TO is below refs/remotes/origin/ or refs/tags/";
                return Err(wrong("refspecs", None, why));
            }
        }
        Ok(specs)
    }

    fn signers(&self) -> Result<Vec<PathBuf>, OptionsError> {
        let name = "verify_signatures";
        let files: Vec<PathBuf> = self.texts(name)?.into_iter().map(PathBuf::from).collect();
        if !files.iter().all(|file| file.is_absolute()) {
            let why = "each is the absolute path of a file with public keys";
            return Err(wrong(name, None, why));
        }
        Ok(files)
    }

    fn auth(&self) -> Result<Auth, OptionsError> {
        let secret = |name| Ok(self.text(name)?.map(Secret::new));
        let path = |name| Ok(self.text(name)?.map(PathBuf::from));
        Ok(Auth {
            user: self.text("user")?,
            password: secret("password")?,
            insecure: self.flag("insecure_auth", false)?,
            pubkey: path("pubkey")?,
            privkey: path("privkey")?,
            passphrase: secret("passphrase")?,
        })
    }

    fn hash_type(&self) -> HashType {
        let name = self.opts.get("hash_type").and_then(Value::as_str);
        name.and_then(|name| HashType::parse(name).ok())
            .unwrap_or(HashType::Sha256)
    }

    /// `saltenv`: what all remotes say of an environment counts where this one
    /// says nothing.
    fn add_saltenvs(&self, remote: &mut Remote) -> Result<(), OptionsError> {
        if self.role != Role::Gitfs {
            return Ok(());
        }
        if let Some(own) = self.own.get("saltenv") {
            remote.saltenv = saltenvs("saltenv", own)?;
            let base = remote.saltenv.get("base");
            if let Some(reference) = base.and_then(|base| base.reference.clone()) {
                remote.base = reference;
            }
        }
        let Some(global) = self
            .opts
            .get("gitfs_saltenv")
            .filter(|value| value.is_true())
        else {
            return Ok(());
        };
        for (env, all) in saltenvs("gitfs_saltenv", global)? {
            let own = remote.saltenv.entry(env).or_default();
            own.mountpoint = own.mountpoint.take().or(all.mountpoint);
            own.root = own.root.take().or(all.root);
            own.reference = own.reference.take().or(all.reference);
        }
        Ok(())
    }
}

/// The options of environments.
fn saltenvs(option: &str, value: &Value) -> Result<BTreeMap<String, PerSaltenv>, OptionsError> {
    let mut envs = BTreeMap::new();
    for (env, value) in repacked(option, value)? {
        let env = text(option, &env)?;
        let mut per = PerSaltenv::default();
        for (name, value) in repacked(option, &value)? {
            let value = text(option, &value)?;
            match name.as_str() {
                Some("mountpoint") => per.mountpoint = Some(mountpoint(Some(value))),
                Some("root") => per.root = Some(root(option, Some(value))?),
                Some("ref") => per.reference = Some(value),
                _ => {
                    let why = format!(
                        "{} is no option of an environment; it has mountpoint, root and ref",
                        python::str(&name)
                    );
                    return Err(wrong(option, None, why));
                }
            }
        }
        envs.insert(env, per);
    }
    Ok(envs)
}

fn mountpoint(text: Option<String>) -> String {
    let text = text.unwrap_or_default();
    let path = text.strip_prefix("salt://").unwrap_or(&text);
    path.trim_matches('/').to_owned()
}

fn root(option: &str, text: Option<String>) -> Result<String, OptionsError> {
    let text = text.unwrap_or_default();
    if text.split('/').any(|part| part == "..") {
        return Err(wrong(
            option,
            None,
            "a root does not lead out of the repository",
        ));
    }
    let parts = text
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    Ok(parts.collect::<Vec<_>>().join("/"))
}
