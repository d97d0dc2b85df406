//! Writes manual pages and completions of all programs, from the same
//! definitions that read their options: `cargo xtask pages`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use halite_cli::options::{
    ApiOptions, CallOptions, CpOptions, KeyOptions, MasterOptions, MinionOptions, RunOptions,
    SaltOptions,
};

/// How programs end: the number and what it says.
type Exits = &'static [(&'static str, &'static str)];

/// How each program ends.
const EXITS: [(&str, Exits); 8] = [
    (
        "salt",
        &[
            (
                "0",
                "every minion that was meant has returned, and did not fail",
            ),
            (
                "1",
                "a minion failed or did not return, the command was refused, the master could not \
                 be asked, or the results could not be written",
            ),
            (
                "2",
                "nobody is meant or has returned, the login failed, or the configuration cannot be \
                 read",
            ),
            ("42", "the target or the function is missing"),
            ("64", "an option or its value is wrong, or not supported"),
            ("other", "in batches: the highest return code of a minion"),
        ],
    ),
    (
        "salt-call",
        &[
            ("0", "the function has succeeded"),
            (
                "1",
                "it has failed, no master has let this minion in, or a signal came",
            ),
            ("2", "no master has accepted the key of this minion"),
            ("64", "an option or its value is wrong, or not supported"),
            ("67", "there is no such user as --priv names"),
            ("78", "the configuration cannot be read"),
            ("255", "there is no such function"),
            (
                "other",
                "with --retcode-passthrough: the return code of the function",
            ),
        ],
    ),
    (
        "salt-run",
        &[
            (
                "0",
                "the runner has ended, or there is no such runner, which is said",
            ),
            (
                "1",
                "it has failed, the command was refused, or the master could not be asked",
            ),
            ("2", "the configuration cannot be read"),
            ("64", "an option or its value is wrong, or not supported"),
            ("other", "the return code that the runner gives"),
        ],
    ),
    (
        "salt-key",
        &[
            ("0", "it is done, or no key is meant"),
            ("1", "a key could not be read, changed or made"),
            ("2", "the configuration cannot be read"),
            ("64", "an option or its value is wrong, or not supported"),
        ],
    ),
    (
        "salt-cp",
        &[
            ("0", "every minion that is meant has every file"),
            (
                "1",
                "a minion has not got a file, nobody is meant, or the master could not be asked",
            ),
            ("2", "the configuration cannot be read"),
            ("42", "a file cannot be read"),
            ("64", "an option or its value is wrong, or not supported"),
        ],
    ),
    ("salt-api", DAEMON),
    ("salt-master", DAEMON),
    ("salt-minion", DAEMON),
];

/// How daemons end.
const DAEMON: Exits = &[
    ("0", "it was told to end"),
    ("1", "it could not start"),
    ("64", "an option or its value is wrong, or not supported"),
    ("77", "every master has rejected the key (salt-minion)"),
    ("78", "the configuration is refused"),
];

/// What the programs read of their environment.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("SALT_CONFIG_DIR", "the directory of the configuration"),
    (
        "SALT_MASTER_CONFIG",
        "the file of the master's configuration",
    ),
    (
        "SALT_MINION_CONFIG",
        "the file of the minion's configuration",
    ),
    (
        "SALT_CLIENT_CONFIG",
        "the file that takes the place of ~/.saltrc",
    ),
    ("SALT_SALTFILE", "the file that --saltfile names otherwise"),
    ("SALT_NO_PARSE", "what --no-parse names otherwise"),
    ("NO_COLOR", "no colours, unless --force-color is given"),
    ("SUDO_USER", "who commands, where root does it for somebody"),
];

/// The shells that get completions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Every program with its options.
pub(crate) fn programs() -> Vec<Command> {
    vec![
        ApiOptions::command(),
        CallOptions::command(),
        CpOptions::command(),
        KeyOptions::command(),
        MasterOptions::command(),
        MinionOptions::command(),
        RunOptions::command(),
        SaltOptions::command(),
    ]
}

/// Writes `man/<program>.1` and `completions/` below `dir`.
pub(crate) fn write_all(dir: &Path) -> io::Result<()> {
    let (man, completions) = (dir.join("man"), dir.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    for mut program in programs() {
        let name = program.get_name().to_owned();
        let program = {
            program = program.version(env!("CARGO_PKG_VERSION"));
            program.mut_args(with_other_names)
        };
        let mut page = File::create(man.join(format!("{name}.1")))?;
        Man::new(program.clone())
            .source(format!("Halite {}", env!("CARGO_PKG_VERSION")))
            .manual("Halite")
            .render(&mut page)?;
        write_sections(&name, &mut page)?;
        for shell in SHELLS {
            generate_to(shell, &mut program.clone(), &name, &completions)?;
        }
    }
    Ok(())
}

/// Says in the help of an option which other names it has.
fn with_other_names(argument: Arg) -> Arg {
    let names: Vec<String> = argument
        .get_visible_aliases()
        .into_iter()
        .flatten()
        .map(|name| format!("--{name}"))
        .collect();
    if names.is_empty() {
        return argument;
    }
    let help = argument.get_help().cloned().unwrap_or_default();
    argument.help(format!("{help} (also {})", names.join(", ")))
}

/// What follows the options in a manual page.
fn write_sections(program: &str, page: &mut impl Write) -> io::Result<()> {
    writeln!(page, ".SH \"EXIT STATUS\"")?;
    let exits = EXITS.iter().find(|(name, _)| *name == program);
    for (code, meaning) in exits.map(|(_, exits)| *exits).unwrap_or_default() {
        item(page, code, meaning)?;
    }
    writeln!(page, ".SH ENVIRONMENT")?;
    for (name, meaning) in ENVIRONMENT {
        item(page, name, meaning)?;
    }
    writeln!(page, ".SH FILES")?;
    let file = match program {
        "salt-call" | "salt-minion" => "minion",
        _ => "master",
    };
    item(
        page,
        &format!("/etc/salt/{file}, /etc/salt/{file}.d/*.conf"),
        "the configuration",
    )?;
    item(
        page,
        "~/.salt/Saltfile, ./Saltfile",
        "options for the programs",
    )?;
    if ["salt", "salt-cp", "salt-key", "salt-run"].contains(&program) {
        let own = "settings of whoever calls, over the master's";
        item(page, "~/.saltrc", own)?;
    }
    Ok(())
}

fn item(page: &mut impl Write, name: &str, meaning: &str) -> io::Result<()> {
    let plain = |text: &str| text.replace('\\', "\\\\").replace('-', "\\-");
    writeln!(page, ".TP\n\\fB{}\\fR\n{}", plain(name), plain(meaning))
}

#[allow(dead_code, reason = "the test of the pages has its own main")]
fn main() -> io::Result<()> {
    let dir = std::env::args_os()
        .nth(1)
        .unwrap_or_else(|| "target/pages".into());
    write_all(Path::new(&dir))
}
