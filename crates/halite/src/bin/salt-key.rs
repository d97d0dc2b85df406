//! `salt-key`: manages the keys of minions.

use std::io::BufReader;
use std::process::ExitCode;

use halite_cli::options::{KeyOptions, Stop, parse_everything};
use halite_cli::{Environment, Exit, Screen, salt_key, start};
use halite_config::Logging;
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
    let options = parse_everything::<KeyOptions>(words, &environment, std::io::empty(), screen)?;
    let config = start::client_config(&options.common, &environment, screen)?;
    let logging = Logging {
        file: config.key_logfile.clone(),
        ..config.logging()
    };
    start::logs(&logging, options.log_level, &options.logging)?;
    let runtime = start::runtime()?;
    let input = BufReader::new(std::io::stdin());
    let run = salt_key::run(&options, config.opts(), &environment, screen, input);
    let exit = runtime.block_on(run);
    // A question that was interrupted still waits for its answer.
    runtime.shutdown_background();
    Ok(exit)
}
