//! Options from elsewhere than the command line: a Saltfile, and standard
//! input.
//!
//! A Saltfile holds a map for each program, from option names to values. The
//! command line is stronger.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::ArgAction;
use halite_proto::Value;

use super::{Program, Stop, parse};
use crate::Environment;

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
/// input add to it.
///
/// # Errors
/// When the program ends here: an error, or `--help` or `--version` was given.
pub fn parse_everything<P: Program>(
    words: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    stdin: impl Read,
) -> Result<P, Stop> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let mut parsed = parse::<P>(words.iter().cloned())?;
    if let Some(file) = saltfile(parsed.common().saltfile.as_deref(), environment) {
        let mut more = saltfile_words::<P>(&file)?;
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

/// The Saltfile to use: the one that is named, or one that is there.
fn saltfile(option: Option<&Path>, environment: &Environment) -> Option<PathBuf> {
    let named = option
        .map(Path::to_owned)
        .or_else(|| environment.saltfile.clone());
    let home = environment.home.as_ref();
    named.or_else(|| {
        [
            environment
                .current_dir
                .as_ref()
                .map(|dir| dir.join("Saltfile")),
            home.map(|home| home.join(".salt/Saltfile")),
        ]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
    })
}

fn saltfile_words<P: Program>(file: &Path) -> Result<Vec<OsString>, Stop> {
    if !file.is_file() {
        let error = format!("'{}' file does not exist.", file.display());
        return Err(Stop::usage::<P>(&error));
    }
    let text = fs::read(file)
        .map_err(|error| Stop::usage::<P>(&format!("{}: {error}", file.display())))?;
    let programs = halite_yaml::load_bytes(&text, &file.display().to_string())
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
                file.display()
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
    use super::*;
    use crate::options::SaltOptions;

    fn read(text: &str, words: &[&str], stdin: &str) -> Result<SaltOptions, Stop> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Saltfile"), text).unwrap();
        let environment = Environment {
            current_dir: Some(dir.path().to_owned()),
            ..Environment::default()
        };
        let words = words.iter().map(OsString::from);
        parse_everything(words, &environment, stdin.as_bytes())
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
