//! Options from other places than the command line: a Saltfile, and standard input.
//!
//! A Saltfile holds a map for each program, from option names to values. The
//! command line takes precedence.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::ArgAction;
use halite_proto::Value;

use super::{Program, Stop, parse};
use crate::unnamed::open_trusted;
use crate::{Environment, Screen};

/// Most bytes of standard input that are taken for options and words.
const STDIN_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Names of options in a Saltfile that are not those of the command line.
const NAMES: [(&str, &str); 7] = [
    ("eauth", "auth"),
    ("mktoken", "make-token"),
    ("cli_summary", "summary"),
    ("pillar_target", "pillar"),
    ("pidfile", "pid-file"),
    ("log_level_logfile", "log-file-level"),
    ("retcode_passthrough", "retcode-passthrough"),
];

/// Reads the command line of the program `P`, and what a Saltfile and standard
/// input add to it. A Saltfile that nobody named and somebody else may have
/// written is warned about on the screen, and ignored.
///
/// # Errors
/// When the program ends here: an error, or `--help` or `--version` was given.
pub fn parse_everything<P: Program>(
    words: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    stdin: impl Read,
    screen: &mut Screen,
) -> Result<P, Stop> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let mut parsed = parse::<P>(words.iter().cloned())?;
    let named = parsed.common().saltfile.as_ref();
    let saltfile = match named.or(environment.saltfile.as_ref()) {
        Some(path) => Some((path.clone(), named_saltfile::<P>(path)?)),
        None => unnamed_saltfile(environment, screen),
    };
    if let Some((path, file)) = saltfile {
        let mut more = saltfile_words::<P>(&path, file)?;
        if !more.is_empty() {
            more.extend(words);
            words = more;
            parsed = parse::<P>(words.iter().cloned())?;
        }
    }
    if parsed.reads_stdin() {
        let mut text = String::new();
        let read = stdin.take(STDIN_BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| Stop::usage::<P>(&format!("standard input: {error}")))?;
        words.extend(text.lines().map(OsString::from));
        parsed = parse::<P>(words)?;
    }
    Ok(parsed)
}

fn named_saltfile<P: Program>(path: &Path) -> Result<File, Stop> {
    if !path.is_file() {
        let error = format!("'{}' file does not exist.", path.display());
        return Err(Stop::usage::<P>(&error));
    }
    File::open(path).map_err(|error| Stop::usage::<P>(&format!("{}: {error}", path.display())))
}

/// The Saltfile that is there: in the current directory, else in the home.
fn unnamed_saltfile(environment: &Environment, screen: &mut Screen) -> Option<(PathBuf, File)> {
    let here = environment.current_dir.as_ref();
    let home = environment.home.as_ref();
    let places = [
        here.map(|dir| dir.join("Saltfile")),
        home.map(|home| home.join(".salt/Saltfile")),
    ];
    for path in places.into_iter().flatten() {
        match open_trusted(&path) {
            Ok(Some(file)) => return Some((path, file)),
            Ok(None) => {}
            Err(why) => screen.error_line(&why),
        }
    }
    None
}

fn saltfile_words<P: Program>(path: &Path, mut file: File) -> Result<Vec<OsString>, Stop> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)
        .map_err(|error| Stop::usage::<P>(&format!("{}: {error}", path.display())))?;
    let programs = halite_yaml::load_bytes(&text, &path.display().to_string())
        .map_err(|error| Stop::usage::<P>(&error.render()))?
        .into_value();
    let Some(options) = programs.get(P::NAME).and_then(Value::as_map) else {
        return Ok(Vec::new());
    };
    let command = P::command();
    let mut words = Vec::new();
    for (name, value) in options {
        let name = halite_proto::python::str(name);
        let long = NAMES
            .iter()
            .find(|(dest, _)| *dest == name)
            .map(|(_, long)| *long);
        let long = long.map_or_else(|| name.replace('_', "-"), str::to_owned);
        let known = command.get_arguments().find(|argument| {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(&*long)
                || aliases.contains(&&*long)
                || aliases.contains(&&*name)
        });
        let Some(argument) = known else {
            return Err(Stop::usage::<P>(&format!(
                "{}: there is no option {name}",
                path.display()
            )));
        };
        let is_flag = matches!(argument.get_action(), ArgAction::SetTrue);
        match (is_flag, value.is_true()) {
            (true, true) => words.push(format!("--{long}").into()),
            (true, false) => {}
            (false, _) => {
                words.push(format!("--{long}={}", halite_proto::python::str(value)).into())
            }
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;
    use crate::options::{
        CallOptions, CpOptions, KeyOptions, MasterOptions, MinionOptions, RunOptions, SaltOptions,
    };

    fn read(text: &str, words: &[&str], stdin: &str) -> Result<SaltOptions, Stop> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Saltfile"), text).unwrap();
        let environment = Environment {
            current_dir: Some(dir.path().to_owned()),
            ..Environment::default()
        };
        let words = words.iter().map(OsString::from);
        let mut screen = Screen::to_writers(std::io::sink(), std::io::sink());
        parse_everything(words, &environment, stdin.as_bytes(), &mut screen)
    }

    /// The configuration directory that the program `P` takes from a Saltfile in
    /// a directory, and what it warns about.
    fn configured<P: Program>(dir: &Path, is_home: bool) -> (Option<PathBuf>, String) {
        let text = format!("{}:\n  config_dir: /x\n", P::NAME);
        let below = if is_home {
            ".salt/Saltfile"
        } else {
            "Saltfile"
        };
        fs::write(dir.join(below), text).unwrap();
        let place = Some(dir.to_owned());
        let environment = match is_home {
            true => Environment {
                home: place,
                ..Environment::default()
            },
            false => Environment {
                current_dir: place,
                ..Environment::default()
            },
        };
        let mut said = Vec::new();
        let words = ["x", "test.ping"].map(OsString::from);
        let words = if P::USAGE.contains("<") {
            &words[..]
        } else {
            &[]
        };
        let mut screen = Screen::to_writers(std::io::sink(), &mut said);
        let parsed =
            parse_everything::<P>(words.iter().cloned(), &environment, &b""[..], &mut screen);
        drop(screen);
        let dir = parsed.unwrap().common().config_dir.clone();
        (dir, String::from_utf8(said).unwrap())
    }

    /// What every program does with a file and a directory of these modes and
    /// owners.
    fn assert_each(file: (u32, u32), directory: (u32, u32), wanted: Option<&str>) {
        let check = |is_home: bool, read: fn(&Path, bool) -> (Option<PathBuf>, String)| {
            let dir = tempfile::tempdir().unwrap();
            let holds = dir.path().join(if is_home { ".salt" } else { "" });
            fs::create_dir_all(&holds).unwrap();
            let path = holds.join("Saltfile");
            fs::write(&path, "").unwrap();
            for (path, (owner, mode)) in [(&path, file), (&holds, directory)] {
                chown(path, Some(owner), None).unwrap();
                fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            }
            let (dir, said) = read(dir.path(), is_home);
            match wanted {
                None => assert_eq!((dir, &*said), (Some(PathBuf::from("/x")), "")),
                Some(why) => {
                    assert_eq!(dir, None, "{said}");
                    let why = format!("WARNING: {} is ignored: {why}\n", path.display());
                    assert_eq!(said, why);
                }
            }
        };
        for is_home in [false, true] {
            check(is_home, configured::<CallOptions>);
            check(is_home, configured::<CpOptions>);
            check(is_home, configured::<KeyOptions>);
            check(is_home, configured::<MasterOptions>);
            check(is_home, configured::<MinionOptions>);
            check(is_home, configured::<RunOptions>);
            check(is_home, configured::<SaltOptions>);
        }
    }

    #[test]
    fn no_program_reads_a_saltfile_that_somebody_else_may_have_written() {
        let us = nix::unistd::geteuid().as_raw();
        assert_each((us, 0o644), (us, 0o755), None);
        assert_each((us, 0o666), (us, 0o755), Some("others may write it"));
        assert_each((us, 0o664), (us, 0o755), Some("others may write it"));
        assert_each(
            (us, 0o644),
            (us, 0o1777),
            Some("others may write its directory"),
        );
        if !halite_test_support::have_root() {
            return;
        }
        let foreign = "belongs to user 65534";
        assert_each((65534, 0o644), (us, 0o755), Some(&format!("it {foreign}")));
        assert_each(
            (us, 0o644),
            (65534, 0o755),
            Some(&format!("its directory {foreign}")),
        );
    }

    #[test]
    fn a_saltfile_gives_options_and_the_command_line_is_stronger() {
        let text = "salt:\n  timeout: 30\n  output: json\n  static: true\n  verbose: false\n\
            \x20 config_dir: /x\nsalt-key:\n  nonsense: 1\n";
        let options = read(text, &["*", "test.ping", "--out=yaml"], "").unwrap();
        assert_eq!(options.timeout, Some(30));
        assert_eq!(options.output.out.as_deref(), Some("yaml"));
        assert!(options.is_static && !options.verbose);
        assert_eq!(options.common.config_dir, Some(PathBuf::from("/x")));
        assert_eq!(options.words, ["*", "test.ping"]);
    }

    #[test]
    fn a_saltfile_that_cannot_be_used_is_an_error() {
        let stop = read("salt:\n  nonsense: 1\n", &["*", "test.ping"], "").unwrap_err();
        assert!(
            stop.stderr
                .contains("Saltfile: there is no option nonsense")
        );
        let stop = read("", &["--saltfile=/none", "x"], "").unwrap_err();
        assert!(
            stop.stderr
                .ends_with("salt: error: '/none' file does not exist.\n")
        );
        assert!(read("salt: [", &["*", "test.ping"], "").is_err());
    }

    #[test]
    fn standard_input_adds_words_and_options() {
        let words = ["--args-stdin", "*"];
        let options = read("", &words, "cmd.run\necho a b\n--out=json\n").unwrap();
        assert_eq!(options.words, ["*", "cmd.run", "echo a b"]);
        assert_eq!(options.output.out.as_deref(), Some("json"));
    }
}
