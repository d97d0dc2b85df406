//! Questions about packages and package files.

use halite_call::Call;
use halite_call::host::Program;
use halite_proto::{Map, Value};

use super::database::with_arch;
use super::{Tool, run};
use crate::pkg::error::PkgError;
use crate::pkg::provider::{FileInfo, Files};
use crate::time;

/// Parts the descriptions of packages.
const END_OF_PACKAGE: &str = "*/~^\\*";

/// The package of a file.
pub(super) fn owner(call: &Call<'_>, path: &str) -> Result<String, PkgError> {
    let ran = Program::new(call, &["dpkg", "-S", path]).run()?;
    let owner = ran.stdout.split(':').next().unwrap_or_default();
    Ok(if owner.to_lowercase().contains("no path found") {
        String::new()
    } else {
        owner.to_owned()
    })
}

/// The versions of installed packages; of all, if none is named.
pub(crate) fn list_plain(call: &Call<'_>, names: &[String]) -> Result<Map, PkgError> {
    let format = "-f=${db:Status-Status}\t${binary:Package}\t${Version}\n";
    let mut words = vec!["dpkg-query".to_owned(), format.to_owned(), "-W".to_owned()];
    words.extend(names.iter().cloned());
    let ran = Program::new(call, &words).may_fail().run()?;
    if !ran.ok() {
        return Err(PkgError::command(format!("Error:  {}", ran.stderr)));
    }
    let mut all = Map::new();
    for line in ran.stdout.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if let ["installed", name, version] = fields.as_slice() {
            all.insert(*name, *version);
        }
    }
    Ok(all)
}

/// The files of installed packages.
pub(crate) fn files(call: &Call<'_>, names: &[String]) -> Result<Files, PkgError> {
    let format = "-f=${db:Status-Status}\t${binary:Package}\n";
    let mut words = vec!["dpkg-query".to_owned(), format.to_owned(), "-W".to_owned()];
    words.extend(names.iter().cloned());
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        return Err(PkgError::command(format!("Error:  {}", ran.stderr)));
    }
    let installed = ran
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("installed\t"));
    let mut files = Files::default();
    for name in installed {
        let ran = Program::new(call, &["dpkg", "-L", name]).run()?;
        let lines = ran.stdout.lines().map(str::to_owned);
        files.packages.push((name.to_owned(), lines.collect()));
    }
    Ok(files)
}

/// The name, version and architecture that a package file says it has.
pub(crate) fn file_info(call: &Call<'_>, path: &str) -> Result<FileInfo, PkgError> {
    if !call.host().path(path).exists() {
        return Err(PkgError::command(format!(
            "{path} does not exist on minion"
        )));
    }
    let ran = Program::new(call, &["dpkg", "-I", path]).run()?;
    if !ran.ok() {
        let why = if ran.stderr.is_empty() {
            String::new()
        } else {
            format!(": {}", ran.stderr)
        };
        return Err(PkgError::command(format!(
            "Unable to get info for {path}{why}"
        )));
    }
    let field = |name: &str| {
        ran.stdout.lines().find_map(|line| {
            let (key, value) = line.trim().split_once(':')?;
            (key.trim_end() == name)
                .then(|| value.split_whitespace().last())
                .flatten()
                .map(str::to_owned)
        })
    };
    match (field("Package"), field("Version"), field("Architecture")) {
        (Some(name), Some(version), Some(arch)) => Ok(FileInfo {
            name: with_arch(&call.ctx.grains(), &name, &arch),
            version,
            arch,
        }),
        (name, version, arch) => {
            let missing: Vec<&str> = [("name", &name), ("version", &version), ("arch", &arch)]
                .into_iter()
                .filter(|(_, value)| value.is_none())
                .map(|(name, _)| name)
                .collect();
            Err(PkgError::command(format!(
                "Unable to get {} for {path}",
                missing.join(", ")
            )))
        }
    }
}

/// What dpkg knows of installed packages, under the keys that all package
/// managers share.
pub(crate) fn info(call: &Call<'_>, names: &[String], failhard: bool) -> Result<Map, PkgError> {
    let mut all = Map::new();
    for (name, fields) in described(call, names, failhard)? {
        let mut info = Map::new();
        let mut status = String::from("ii");
        for (key, value) in fields {
            match key.as_str() {
                "package" => drop(info.insert("name", value)),
                "status" => status = value,
                "origin" => drop(info.insert("vendor", value)),
                "section" => drop(info.insert("group", value)),
                "maintainer" => drop(info.insert("packager", value)),
                "homepage" => drop(info.insert("url", value)),
                _ => drop(info.insert(key, value)),
            }
        }
        if let Some(license) = license(call, &name) {
            info.insert("license", license);
        }
        if status.chars().nth(1) == Some('i') {
            all.insert(name, info);
        }
    }
    Ok(all)
}

/// The same under dpkg's own keys.
pub(crate) fn info_plain(
    call: &Call<'_>,
    names: &[String],
    failhard: bool,
) -> Result<Map, PkgError> {
    let mut all = Map::new();
    for (name, fields) in described(call, names, failhard)? {
        let mut info: Map = fields.into_iter().collect();
        if let Some(license) = license(call, &name) {
            info.insert("license", license);
        }
        all.insert(name, info);
    }
    Ok(all)
}

/// A package and its fields.
type Described = (String, Vec<(String, String)>);

/// What `dpkg-query` is to show of each package.
const DESCRIPTION_FORMAT: &str = concat!(
    "-f=package:${Package}\\n",
    "revision:${binary:Revision}\\n",
    "architecture:${Architecture}\\n",
    "maintainer:${Maintainer}\\n",
    "summary:${Summary}\\n",
    "source:${source:Package}\\n",
    "version:${Version}\\n",
    "section:${Section}\\n",
    "installed_size:${Installed-size}\\n",
    "size:${Size}\\n",
    "MD5:${MD5sum}\\n",
    "SHA1:${SHA1}\\n",
    "SHA256:${SHA256}\\n",
    "origin:${Origin}\\n",
    "homepage:${Homepage}\\n",
    "status:${db:Status-Abbrev}\\n",
    "install_date:${db-fsys:Last-Modified}\\n",
    "description:${Description}\\n",
    "\\n*/~^\\\\*\\n",
);

/// The fields of packages that are not empty, as dpkg-query shows them.
fn described(
    call: &Call<'_>,
    names: &[String],
    failhard: bool,
) -> Result<Vec<Described>, PkgError> {
    let mut words = ["dpkg-query", "-W", DESCRIPTION_FORMAT]
        .map(str::to_owned)
        .to_vec();
    words.extend(names.iter().cloned());
    let ran = Program::new(call, &words).run()?;
    if !ran.ok() {
        if !failhard {
            return Ok(Vec::new());
        }
        return Err(PkgError::command(format!(
            "Error getting packages information: {}",
            ran.stderr
        )));
    }
    let packages = ran.stdout.split(END_OF_PACKAGE);
    Ok(packages.filter_map(parse_description).collect())
}

/// A package from the answer of `dpkg-query`.
fn parse_description(text: &str) -> Option<Described> {
    let (head, description) = text.split_once("\ndescription:")?;
    let (mut name, mut fields) = (String::new(), Vec::new());
    for line in head.lines().map(str::trim) {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        match key {
            "installed_size" => {}
            _ if value.is_empty() => {}
            "install_date" => {
                if let Ok(seconds) = value.parse() {
                    fields.push((key.to_owned(), time::utc(seconds)));
                }
            }
            key => {
                if key == "package" {
                    value.clone_into(&mut name);
                }
                fields.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    let description = description.strip_suffix('\n').unwrap_or(description);
    fields.push(("description".to_owned(), description.to_owned()));
    Some((name, fields))
}

fn license(call: &Call<'_>, name: &str) -> Option<String> {
    let text = call.host().read(format!("/usr/share/doc/{name}/copyright"));
    let mut licenses: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("License:"))
        .map(str::trim)
        .collect();
    licenses.sort_unstable();
    licenses.dedup();
    (!licenses.is_empty()).then(|| licenses.join(", "))
}

/// The fields of all versions that repositories have.
pub(crate) fn show(call: &Call<'_>, names: &[String], filter: &[String]) -> Result<Map, PkgError> {
    let mut tool = Tool::new(&["apt-cache", "show"]);
    tool.words.extend(names.iter().cloned());
    let ran = run(call, || tool.clone())?;
    let wanted = |key: &str| {
        let key = key.to_lowercase();
        filter.is_empty() || key == "package" || key == "version" || filter.contains(&key)
    };
    let mut all = Map::new();
    for block in ran.stdout.split("\n\n") {
        let mut fields = Map::new();
        for line in block.lines().map(str::trim) {
            if let Some((key, value)) = line.split_once(':')
                && wanted(key.trim())
            {
                fields.insert(key.trim(), value.trim());
            }
        }
        let (name, version) = (fields.remove("Package"), fields.remove("Version"));
        if let (Some(name), Some(version)) = (name, version) {
            let versions = all.get_or_insert_with(name, || Value::Map(Map::new()));
            if let Value::Map(versions) = versions {
                versions.insert(version, fields);
            }
        }
    }
    Ok(all)
}
