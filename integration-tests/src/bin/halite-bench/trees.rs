//! Trees of states and pillars as people have them, of any size.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Files of the plain tree, of 100 states each.
const PLAIN_FILES: usize = 10;

/// States in one file of the plain tree.
const PLAIN_STATES: usize = 100;

/// Formulas in the other tree, of eleven templates and as many states each.
const FORMULAS: usize = 10;

/// States in the plain tree.
pub(crate) const PLAIN_STATES_ALL: usize = PLAIN_FILES * PLAIN_STATES;

/// Templates, and states, in the tree of formulas.
pub(crate) const FORMULA_TEMPLATES: usize = FORMULAS * 11;

/// A thousand `file.managed`, written out as `plain`; they write below
/// `target`.
pub(crate) fn plain(root: &Path, target: &Path) -> Result<()> {
    let mut include = String::from("include:\n");
    for file in 0..PLAIN_FILES {
        let mut text = String::new();
        for state in 0..PLAIN_STATES {
            let name = target.join(format!("plain/{file}/{state}.conf"));
            // Writing to a String cannot fail.
            write!(
                text,
                "plain-{file}-{state}:\n  file.managed:\n    - name: {}\n    - mode: '0640'\n    \
                 - makedirs: True\n    - contents: |\n        # number {state} of {file}\n        \
                 port = {}\n        name = \"service {state}\"\n",
                name.display(),
                1000 + state,
            )
            .ok();
            if state % 10 == 9 {
                writeln!(
                    text,
                    "    - require:\n      - file: plain-{file}-{}",
                    state - 1
                )
                .ok();
            }
        }
        put(root, &format!("plain/part{file}.sls"), &text)?;
        writeln!(include, "  - plain.part{file}").ok();
    }
    put(root, "plain/init.sls", &include)
}

/// Ten formulas in the form of public ones, all included by `formulas`: maps
/// of defaults and families, macros, a look into the pillar, files made from
/// templates below `target`.
pub(crate) fn formulas(root: &Path, target: &Path) -> Result<()> {
    let mut include = String::from("include:\n");
    for number in 0..FORMULAS {
        let name = format!("f{number}");
        for (path, text) in FORMULA {
            let text = text
                .replace("@NAME@", &name)
                .replace("@TARGET@", &target.join(&name).display().to_string());
            put(root, &format!("{name}/{path}"), &text)?;
        }
        writeln!(include, "  - {name}").ok();
    }
    put(root, "formulas.sls", &include)
}

/// Makes `sls` the highstate of every minion.
pub(crate) fn top(root: &Path, sls: &str) -> Result<()> {
    put(root, "top.sls", &format!("base:\n  '*':\n    - {sls}\n"))
}

/// The pillar of the formulas: each has a template of its own.
pub(crate) fn pillar(root: &Path) -> Result<()> {
    let mut top = String::from("base:\n  '*':\n    - common\n");
    put(root, "common.sls", PILLAR_COMMON)?;
    for number in 0..FORMULAS {
        let name = format!("f{number}");
        let text = PILLAR_FORMULA.replace("@NAME@", &name);
        put(root, &format!("apps/{name}.sls"), &text)?;
        writeln!(top, "    - apps.{name}").ok();
    }
    put(root, "top.sls", &top)
}

fn put(root: &Path, path: &str, text: &str) -> Result<()> {
    let path = root.join(path);
    let dir = path.parent().context("a file without a directory")?;
    fs::create_dir_all(dir)?;
    fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))
}

/// The files of a formula.
const FORMULA: [(&str, &str); 14] = [
    ("defaults.yaml", include_str!("trees/defaults.yaml")),
    ("osfamilymap.yaml", include_str!("trees/osfamilymap.yaml")),
    ("map.jinja", include_str!("trees/map.jinja")),
    ("macros.jinja", include_str!("trees/macros.jinja")),
    ("init.sls", include_str!("trees/init.sls")),
    ("package/init.sls", include_str!("trees/package_init.sls")),
    (
        "package/install.sls",
        include_str!("trees/package_install.sls"),
    ),
    ("config/init.sls", include_str!("trees/config_init.sls")),
    ("config/file.sls", include_str!("trees/config_file.sls")),
    ("config/users.sls", include_str!("trees/config_users.sls")),
    ("service/init.sls", include_str!("trees/service_init.sls")),
    (
        "service/running.sls",
        include_str!("trees/service_running.sls"),
    ),
    (
        "service/reload.sls",
        include_str!("trees/service_reload.sls"),
    ),
    (
        "files/main.conf.jinja",
        include_str!("trees/main.conf.jinja"),
    ),
];

const PILLAR_COMMON: &str = include_str!("trees/pillar_common.sls");
const PILLAR_FORMULA: &str = include_str!("trees/pillar_formula.sls");
