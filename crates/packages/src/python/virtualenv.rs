//! Python environments: the execution module `virtualenv`.

use halite_call::host::{Program, Ran};
use halite_call::{Call, CallError, CallResult, Function, Module, paths, python};
use halite_proto::{Map, Value};

use super::pip::ran_map;

pub(crate) const MODULE: Module = Module {
    name: "virtualenv",
    functions: &[
        Function::new(
            "virtualenv.create",
            "(path, venv_bin=None, system_site_packages=False, distribute=False, clear=False, python=None, extra_search_dir=None, never_download=None, prompt=None, pip=False, symlinks=None, upgrade=None, user=None, use_vt=False, saltenv='base', **kwargs)",
            create_,
            "Makes a Python environment.",
        ),
        Function::new(
            "virtualenv.get_distribution_path",
            "(venv, distribution)",
            get_distribution_path,
            "The directory of a distribution inside an environment.",
        ),
        Function::new(
            "virtualenv.get_resource_content",
            "(venv, package=None, resource=None)",
            get_resource_content,
            "The content of a file of a package inside an environment.",
        ),
        Function::new(
            "virtualenv.get_resource_path",
            "(venv, package=None, resource=None)",
            get_resource_path,
            "The path of a file of a package inside an environment.",
        ),
        Function::new(
            "virtualenv.get_site_packages",
            "(venv)",
            get_site_packages,
            "The directory of an environment's packages.",
        ),
        Function::new(
            "virtualenv.virtualenv_ver",
            "(venv_bin, user=None, **kwargs)",
            virtualenv_ver,
            "The version of a program that makes environments, in numbers.",
        ),
    ],
};

/// Python takes no module from the current directory, which is the home of the user:
/// behind `sudo` that may be the home of somebody who is not root.
const ISOLATED: &str = "-I";

/// The program that makes environments, with its first words.
fn maker(call: &Call<'_>, args: &Map) -> Result<(Vec<String>, bool), CallError> {
    let host = call.host();
    let text = |name: &str| {
        let value = args.get(name).filter(|value| value.is_true());
        value.map(python::str).map(|text| text.trim().to_owned())
    };
    let chosen = text("venv_bin")
        .or_else(|| {
            call.ctx
                .pillar()
                .get("venv_bin")
                .filter(|bin| bin.is_true())
                .map(python::str)
        })
        .or_else(|| call.opt_text("venv_bin"));
    let interpreter = text("python");
    let module = |python: &str| [python, ISOLATED, "-m", "venv"].map(str::to_owned).to_vec();
    let checked = |python: &str| {
        if host.has(python) {
            Ok(python.to_owned())
        } else {
            Err(CallError::command(format!(
                "Cannot find requested python ({python})."
            )))
        }
    };
    let bin = match chosen {
        Some(bin) => bin,
        None => ["virtualenv", "pyvenv"]
            .into_iter()
            .find(|bin| host.has(bin))
            .unwrap_or("venv")
            .to_owned(),
    };
    let name = bin.rsplit('/').next().unwrap_or(&bin);
    if bin == "venv" {
        let python = interpreter.unwrap_or_else(|| "python3".to_owned());
        return Ok((module(&checked(&python)?), true));
    }
    if name.starts_with("python") {
        if interpreter.is_some() {
            return Err(CallError::command(
                "Pass the target interpreter either as `venv_bin` or as `python`, not both.",
            ));
        }
        return Ok((module(&checked(&bin)?), true));
    }
    if !host.has(&bin) {
        return Err(CallError::NotFound(format!("{bin} was not found")));
    }
    let mut line = vec![bin.clone()];
    let is_venv = name.contains("venv");
    if let Some(python) = interpreter {
        if is_venv {
            return Err(CallError::command(format!(
                "The `python`(`--python`) option is not supported by '{bin}'"
            )));
        }
        line.push(format!("--python={}", checked(&python)?));
    }
    Ok((line, is_venv))
}

/// Makes an environment.
pub(crate) fn create(call: &Call<'_>, path: &str, args: &Map) -> Result<Ran, CallError> {
    let is = |name: &str| args.get(name) == Some(&Value::Bool(true));
    let (mut line, is_venv) = maker(call, args)?;
    let prompt = args
        .get("prompt")
        .filter(|prompt| prompt.is_true())
        .map(python::str);
    if is_venv {
        for (name, option) in [("upgrade", "--upgrade"), ("symlinks", "--symlinks")] {
            if is(name) {
                line.push(option.to_owned());
            }
        }
        if let Some(prompt) = prompt {
            line.extend(["--prompt".to_owned(), prompt]);
        }
    } else {
        for directory in args
            .get("extra_search_dir")
            .map(python::texts)
            .unwrap_or_default()
        {
            line.push(format!("--extra-search-dir={directory}"));
        }
        if is("never_download") {
            line.push("--never-download".to_owned());
        } else if args.get("never_download") == Some(&Value::Bool(false)) {
            line.push("--download".to_owned());
        }
        if let Some(prompt) = prompt {
            line.push(format!("--prompt='{prompt}'"));
        }
    }
    for (name, option) in [
        ("clear", "--clear"),
        ("system_site_packages", "--system-site-packages"),
    ] {
        if is(name) {
            line.push(option.to_owned());
        }
    }
    let real = call.host().path(path);
    line.push(real.display().to_string());
    let was_there = real.exists();
    let user = args
        .get("user")
        .filter(|user| user.is_true())
        .map(python::str);
    let ran = Program::new(call, &line).user(user.as_deref()).run()?;
    if !ran.ok() && !was_there && real.is_dir() {
        // Half an environment would pass for a whole one.
        let _ = paths::remove_dir_all(&real);
    }
    Ok(ran)
}

/// The version of an environment's Python, as it tells it.
pub(crate) fn python_version(call: &Call<'_>, path: &str) -> Result<String, CallError> {
    let python = call.host().path(path).join("bin/python");
    let ran = Program::new(call, &[&python.display().to_string(), "-V"]).run()?;
    Ok(if ran.stderr.is_empty() {
        ran.stdout
    } else {
        ran.stderr
    })
}

fn create_(call: &Call<'_>) -> CallResult {
    let names = [
        "venv_bin",
        "system_site_packages",
        "clear",
        "python",
        "extra_search_dir",
        "never_download",
        "prompt",
        "symlinks",
        "upgrade",
        "user",
    ];
    let args: Map = names
        .iter()
        .map(|name| (*name, call.arg(name).clone()))
        .collect();
    Ok(ran_map(create(call, &call.text("path"), &args)?).into())
}

fn get_site_packages(call: &Call<'_>) -> CallResult {
    let python = call.host().path(call.text("venv")).join("bin/python");
    let code = "import sysconfig; print(sysconfig.get_path(\"purelib\"))";
    let python = python.display().to_string();
    let line = [python.as_str(), ISOLATED, "-c", code];
    let ran = Program::new(call, &line).run()?;
    Ok(ran.stdout.into())
}

/// Asks the Python of an environment. What is asked for comes as arguments, so
/// that nothing of it is code.
fn ask(call: &Call<'_>, code: &str, args: &[String]) -> CallResult {
    let venv = call.text("venv");
    let interpreter = format!("{}/bin/python", venv.trim_end_matches('/'));
    if !call.host().has(&interpreter) {
        return Err(CallError::command(format!(
            "Path does not appear to be a virtualenv: '{venv}'"
        )));
    }
    let options = [ISOLATED, "-c", code].map(str::to_owned);
    let mut line = vec![interpreter];
    line.extend(options);
    line.extend(args.iter().cloned());
    let ran = Program::new(call, &line).run()?;
    if ran.ok() {
        Ok(ran.stdout.into())
    } else {
        Err(CallError::command(format!("{}{}", ran.stderr, ran.stdout)))
    }
}

fn get_distribution_path(call: &Call<'_>) -> CallResult {
    let code = "import sys\nfrom importlib.metadata import distribution\nprint(distribution(sys.argv[1]).locate_file(''))";
    ask(call, code, &[call.text("distribution")])
}

/// The named package and file.
fn resource(call: &Call<'_>) -> Result<[String; 2], CallError> {
    match (call.text_opt("package"), call.text_opt("resource")) {
        (Some(package), Some(resource)) => Ok([package, resource]),
        _ => Err(CallError::command(
            "Must specify both a package and a resource",
        )),
    }
}

fn get_resource_path(call: &Call<'_>) -> CallResult {
    let code = "import os, sys\nfrom importlib.util import find_spec\nplaces = find_spec(sys.argv[1]).submodule_search_locations\nprint(os.path.join(list(places)[0], sys.argv[2]))";
    ask(call, code, &resource(call)?)
}

fn get_resource_content(call: &Call<'_>) -> CallResult {
    let code = "import pkgutil, sys\nsys.stdout.write(pkgutil.get_data(sys.argv[1], sys.argv[2]).decode())";
    ask(call, code, &resource(call)?)
}

fn virtualenv_ver(call: &Call<'_>) -> CallResult {
    let bin = call.text("venv_bin");
    let user = call.text_opt("user");
    let ran = Program::new(call, &[bin.as_str(), "--version"])
        .user(user.as_deref())
        .may_fail()
        .run()?;
    if !ran.ok() {
        return Err(CallError::command(format!(
            "Unable to get the virtualenv version output using '{bin}'. Returned data: {}",
            ran.complaint()
        )));
    }
    // "virtualenv 20.4.3 from /usr/..", or the version only
    let version = ran
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let numbers = version.unwrap_or_default().split('.');
    let numbers = numbers
        .map(|part| {
            part.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        })
        .map(|digits| Value::from(digits.parse::<i64>().unwrap_or_default()));
    Ok(Value::List(numbers.collect()))
}
