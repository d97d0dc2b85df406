//! Writes manual pages and completions of all programs, from the same
//! definitions that read their options: `cargo xtask pages`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use halite_cli::options::{
    CallOptions, CpOptions, KeyOptions, MasterOptions, MinionOptions, RunOptions, SaltOptions,
};

/// The shells that get completions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Every program with its options.
pub(crate) fn programs() -> Vec<Command> {
    vec![
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
            program
        };
        let mut page = File::create(man.join(format!("{name}.1")))?;
        Man::new(program.clone())
            .source(format!("Halite {}", env!("CARGO_PKG_VERSION")))
            .manual("Halite")
            .render(&mut page)?;
        for shell in SHELLS {
            generate_to(shell, &mut program.clone(), &name, &completions)?;
        }
    }
    Ok(())
}

#[allow(dead_code, reason = "the test of the pages has its own main")]
fn main() -> io::Result<()> {
    let dir = std::env::args_os()
        .nth(1)
        .unwrap_or_else(|| "target/pages".into());
    write_all(Path::new(&dir))
}
