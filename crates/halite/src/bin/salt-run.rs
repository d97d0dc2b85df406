//! `salt-run`: runs functions of the master and shows what they return.

use std::process::ExitCode;

use halite_cli::options::{RunOptions, Stop, parse_everything};
use halite_cli::{Environment, Exit, Screen, salt_run, start};
use halite_process::command_line::words_hiding;

fn main() -> ExitCode {
    halite_process::file_size::exceeding_is_an_error();
    let mut screen = Screen::standard();
    let exit = run(&mut screen).unwrap_or_else(|stop| stop.show(&mut screen));
    screen.close(exit).into()
}

fn run(screen: &mut Screen) -> Result<Exit, Stop> {
    let words = words_hiding(&["--password"]);
    let environment = Environment::of_process();
    let options = parse_everything::<RunOptions>(words, &environment, std::io::stdin(), screen)?;
    let config = start::client_config(&options.common, &environment, screen)?;
    let console = &options.console;
    start::logs(&config.logging(), console.log_level, &console.logging)?;
    let runtime = start::runtime()?;
    let exit = runtime.block_on(salt_run::run(&options, config.opts(), &environment, screen));
    // What is still under way, a request that nobody waits for, is given up.
    runtime.shutdown_background();
    Ok(exit)
}
