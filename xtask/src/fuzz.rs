//! `cargo xtask fuzz`: the targets of `crates/fuzz` with libFuzzer and coverage
//! feedback, on the stable compiler, which has LLVM's pass and only lacks the
//! sanitizers.

mod figures;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use halite_test_support::inputs;

use self::figures::{Figures, Page};
use crate::build::{cargo, root};

/// Counts what is reached, and shows the fuzzer what is compared. Overflows
/// and broken assertions panic as in tests.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions -Coverflow-checks --cfg fuzzing";

/// The longest input, in bytes.
const INPUT_BYTES_MAX: usize = 4096;

/// Bytes of the inputs that are kept for a target.
const KEPT_BYTES_MAX: usize = 48 * 1024;

/// How long a target runs if nothing else was asked for.
const SECONDS: u64 = 60;

/// The time that one input may take, in seconds, and the memory of the process
/// in megabytes.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=2048"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which targets; by default all of them
    targets: Vec<String>,
    /// How long each target runs; by default 60, with --runs or --total as long
    /// as they take
    #[arg(long, value_name = "COUNT")]
    seconds: Option<u64>,
    /// Ends a target after so many executions
    #[arg(long, value_name = "COUNT")]
    runs: Option<u64>,
    /// Ends a target when docs/fuzzing.md counts so many executions of it
    #[arg(
        long,
        value_name = "COUNT",
        requires = "record",
        conflicts_with = "runs"
    )]
    total: Option<u64>,
    /// How many targets run at once
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    jobs: usize,
    /// Keeps what was found that reaches more, in crates/fuzz/corpus
    #[arg(long)]
    keep: bool,
    /// Adds the figures of each target to docs/fuzzing.md when it ends
    #[arg(long)]
    record: bool,
    /// A directory of programs that are built already, named as their targets,
    /// instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

impl Args {
    /// The seconds of each target; none if the executions end it.
    fn seconds(&self) -> Option<u64> {
        match self.runs.or(self.total) {
            Some(_) => self.seconds,
            None => Some(self.seconds.unwrap_or(SECONDS)),
        }
    }

    /// The executions that end a target of which so many are recorded already;
    /// none if only the time ends it.
    fn runs(&self, recorded: u64) -> Option<u64> {
        let lacking = self.total.map(|total| total.saturating_sub(recorded));
        self.runs.or(lacking)
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut waiting = chosen(&args.targets)?;
    let fuzzer = Fuzzer {
        programs: match &args.programs {
            Some(programs) => programs.clone(),
            None => build(&waiting)?,
        },
        found: root().join("target/fuzz/found"),
        page: args
            .record
            .then(|| Mutex::new(Page::new(root().join("docs/fuzzing.md")))),
    };
    fs::create_dir_all(&fuzzer.found)?;
    waiting.reverse();
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().ok()?.pop();
    let work = || -> Result<bool> {
        let mut all_passed = true;
        while let Some(target) = next() {
            let passed = fuzzer.play(&target, args);
            all_passed &= passed.with_context(|| format!("the target {target}"))?;
        }
        Ok(all_passed)
    };
    let passed = thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| {
            let ended = worker.join();
            ended.unwrap_or_else(|_| bail!("a thread of the fuzzer has ended"))
        });
        ended.collect::<Result<Vec<bool>>>()
    })?;
    Ok(match passed.into_iter().all(|passed| passed) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The targets, by the files of the inputs that are kept for them.
fn chosen(wanted: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root().join("crates/fuzz/corpus"))? {
        let path = entry?.path();
        if let Some(name) = path.file_stem() {
            all.push(name.to_string_lossy().into_owned());
        }
    }
    all.sort();
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        bail!("there is no target {unknown}; there are {}", all.join(", "));
    }
    Ok(match wanted {
        [] => all,
        _ => wanted.to_vec(),
    })
}

/// Builds a program for each target, apart from all others: everything is built with
/// the coverage. After the first, each takes no more than being linked.
fn build(targets: &[String]) -> Result<PathBuf> {
    let host = host()?;
    let dir = root().join("target/fuzz");
    let programs = dir.join("programs");
    fs::create_dir_all(&programs)?;
    for target in targets {
        let mut command = cargo();
        command
            .args(["build", "--release", "-p", "halite-fuzz"])
            .args(["--no-default-features", "--features", "libfuzzer"])
            // With a target, build scripts are built without the flags.
            .args(["--target", &host, "--target-dir"])
            .arg(&dir)
            .env("RUSTFLAGS", FLAGS)
            .env("HALITE_FUZZ_TARGET", target);
        let built = command.status().context("could not run cargo")?;
        ensure!(built.success(), "the fuzzer of {target} was not built");
        let program = dir.join(&host).join("release/halite-fuzz");
        fs::copy(program, programs.join(target))?;
    }
    Ok(programs)
}

fn host() -> Result<String> {
    let said = Command::new("rustc").arg("-vV").output()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .context("rustc does not say its host")
}

struct Fuzzer {
    /// The directory of the programs.
    programs: PathBuf,
    /// Where inputs are put that a target does not survive.
    found: PathBuf,
    /// Where the figures go.
    page: Option<Mutex<Page>>,
}

impl Fuzzer {
    /// The executions of a target that are recorded already.
    fn recorded(&self, target: &str) -> Result<u64> {
        let Some(page) = &self.page else { return Ok(0) };
        let page = page.lock().ok().context("a thread has ended")?;
        page.executions(target)
    }

    /// Runs a target; whether it survived.
    fn play(&self, target: &str, args: &Args) -> Result<bool> {
        let runs = args.runs(self.recorded(target)?);
        if runs == Some(0) {
            println!("{target:16} has run often enough");
            return Ok(true);
        }
        let corpus = root().join(format!("crates/fuzz/corpus/{target}.txt"));
        let scratch = tempfile::tempdir()?;
        let [seeds, grown, least] = ["seeds", "grown", "least"].map(|dir| scratch.path().join(dir));
        for dir in [&seeds, &grown, &least] {
            fs::create_dir(dir)?;
        }
        for (n, input) in inputs::read(&corpus)?.into_iter().enumerate() {
            fs::write(seeds.join(n.to_string()), input)?;
        }
        let log = self.found.join(format!("{target}.log"));
        let mut command = self.command(target, &log)?;
        command.args(LIMITS).args([
            format!("-max_len={INPUT_BYTES_MAX}"),
            format!("-artifact_prefix={}/{target}-", self.found.display()),
            "-print_final_stats=1".to_owned(),
        ]);
        command.args(args.seconds().map(|most| format!("-max_total_time={most}")));
        command.args(runs.map(|most| format!("-runs={most}")));
        let begun = Instant::now();
        let survived = command.arg(&grown).arg(&seeds).status()?.success();
        let said = fs::read_to_string(&log).unwrap_or_default();
        let figures = Figures::read(&said, begun.elapsed());
        println!(
            "{target:16} {} {}",
            figures.line(),
            if survived { "" } else { "FAILED" },
        );
        if let Some(page) = &self.page {
            let page = page.lock().ok().context("a thread has ended")?;
            page.record(target, &figures)?;
        }
        if !survived {
            println!("  see {}", log.display());
        } else if args.keep {
            let mut command = self.command(target, &log)?;
            command.args(["-merge=1".to_owned(), format!("-max_len={INPUT_BYTES_MAX}")]);
            let merged = command.args([&least, &seeds, &grown]).status()?;
            ensure!(
                merged.success(),
                "merging has failed: see {}",
                log.display()
            );
            inputs::write(&corpus, kept(&least)?)?;
        }
        Ok(survived)
    }

    fn command(&self, target: &str, log: &Path) -> Result<Command> {
        let log = fs::File::create(log)?;
        let mut command = Command::new(self.programs.join(target));
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Ok(command)
    }
}

/// The shortest inputs in a directory, as many as are kept.
fn kept(dir: &Path) -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        all.push(fs::read(entry?.path())?);
    }
    all.sort_by_key(Vec::len);
    let mut bytes = 0;
    Ok(all
        .into_iter()
        .take_while(|input| {
            bytes += input.escape_ascii().count() + 1;
            bytes <= KEPT_BYTES_MAX
        })
        .collect())
}
